"""The books of a small shop, kept here so that the example needs no database."""

from folkmoot import tool

CHARGES = {1042: ("2026-03-02 09:14, 49.00 EUR", "2026-03-02 09:15, 49.00 EUR")}
REFUNDS = {1042: ("2026-03-05 16:40, 49.00 EUR",)}


@tool(effect="pure", access="read")
def charges(order: int) -> str:
    """Every charge of an order."""
    return "\n".join(CHARGES.get(order, ())) or "none"


@tool(effect="pure", access="read")
def refunds(order: int) -> str:
    """Every refund of an order."""
    return "\n".join(REFUNDS.get(order, ())) or "none"
