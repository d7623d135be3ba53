"""What the desks of the shop can look up and do; its books are kept here so that the example needs no database."""

from pathlib import Path

from folkmoot import tool

CHARGES = {1042: ("3 May, 39.90 EUR", "4 May, 39.90 EUR"), 1043: ("5 May, 12.00 EUR",)}
PARCELS = {1042: "delivered on 6 May", 1043: "left the store yesterday"}


@tool(effect="pure", access="read")
def charges(order: int) -> str:
    """Every charge of an order."""
    return "\n".join(CHARGES.get(order, ())) or "none"


@tool(effect="pure", access="read")
def parcel(order: int) -> str:
    """Where the parcel of an order is."""
    return PARCELS.get(order, "there is no such order")


@tool(effect="once", access="write", asks="high")
def refund(order: int, euros: float) -> str:
    """Pay money back to the customer. A person approves each call, and no call is made twice."""
    with Path(__file__).with_name("refunds.csv").open("a") as book:
        book.write(f"{order},{euros:.2f}\n")
    return f"{euros:.2f} EUR for order {order} are on their way"
