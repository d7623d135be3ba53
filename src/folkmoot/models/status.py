"""What the status of a server's answer, and its words, mean."""

from __future__ import annotations

import re

from folkmoot.errors import FailureKind

_PASSING = frozenset({408, 409, 425, 429})
_SERVER_ERRORS = 500
_KINDS: dict[int, FailureKind] = {
    402: "billing",
    408: "timeout",
    504: "timeout",
    429: "rate_limit",
    529: "rate_limit",
}
_BILLING = re.compile(r"billing|insufficient[_ ](quota|funds)|payment|credit balance", re.I)
_WORDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("context_overflow", re.compile(r"context[_ ](length|window|overflow)|prompt is too long", re.I)),
    ("rate_limit", re.compile(r"rate[_ -]?limit|too many requests|overloaded", re.I)),
    ("timeout", re.compile(r"time[d]?[_ -]?out", re.I)),
)
_RESET = re.compile(r"(?:reset|retry|try again)\s+(?:after|in)\s+([0-9]{1,6}(?:\.[0-9]+)?)\s*s", re.I)


def is_passing(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in _PASSING or status >= _SERVER_ERRORS


def kind_of(status: int, said: str) -> FailureKind:
    """By the status, and by what a provider writes. Billing comes first: some say it with a 429."""
    if _BILLING.search(said):
        return "billing"
    if status in _KINDS:
        return _KINDS[status]
    return next((kind for kind, words in _WORDS if words.search(said)), "unknown")


def reset_after(said: str) -> float:
    """The seconds that a provider asks for in its own words ("try again in 30s"); 0 if it names none."""
    found = _RESET.search(said)
    return float(found[1]) if found else 0.0
