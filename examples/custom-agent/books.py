"""The tools of this example: looking into the books, and writing to them."""

from folkmoot import tool

ENTRIES = {"travel": "1,240.00 EUR for four trips to customers in 2025"}


@tool(effect="pure", access="read")
async def look_up(account: str) -> str:
    """What the books hold for an account."""
    return ENTRIES.get(account, "nothing")


@tool(effect="once", access="write")
async def write_off(account: str) -> str:
    """Write an account off."""
    return f"{ENTRIES.pop(account, 'nothing')} written off"
