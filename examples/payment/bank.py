"""A bank that books a payment once for each idempotency key; it writes down every request that reaches it."""

import os
import time
from pathlib import Path

from folkmoot import tool

BOOK = Path(__file__).with_name("payments.csv")


@tool(effect="pure", access="read")
def invoice(number: int) -> str:
    """What is owed on an invoice."""
    return f"120.00 EUR is owed to the printer on invoice {number}"


@tool(effect="keyed", access="write")
def pay(invoice: int, euros: float, idempotency_key: str) -> str:
    """Pay an invoice. The same payment, sent again after a crash, has the same key and is booked once."""
    known = BOOK.exists() and f"{idempotency_key},booked" in BOOK.read_text()
    with BOOK.open("a") as book:
        book.write(f"{invoice},{euros:.2f},{idempotency_key},{'known already' if known else 'booked'}\n")
    time.sleep(float(os.environ.get("BANK_SECONDS", "0")))  # a slow bank: there is time to kill its caller
    return f"invoice {invoice} is paid, {euros:.2f} EUR"
