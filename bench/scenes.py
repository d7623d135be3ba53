"""What both sides of the bench say and do, so that they differ in nothing but Folkmoot."""

import time

PROMPT = "You are a clerk of a small shop. Be brief, be exact, and say what you do not know. " * 6
QUESTION = "I was charged twice for order 1042. What happened, and what will you do about it?"
LOOK_ABOUT = "Look something up in the shop's books."
FOUND = (
    "Order 1042: two payments of 39.90 EUR, on the 3rd and the 4th; one of them is marked as a retry. " * 2
)

ADVISORS = 8
CHAIN = ("first", "second", "third")
DESTINATIONS = ("billing", "legal", "returns")
HELPERS = 8
LONG_TURNS = 200
CROWD = 200
CROWD_LATENCY_MS = 50

moments: list[float] = []
"""The process's CPU seconds at each call of the tool: the cost of each turn of a conversation."""


def look_up(what: str) -> str:
    """What the tool does, on either side."""
    moments.append(time.process_time())
    return f"{what}: {FOUND}"
