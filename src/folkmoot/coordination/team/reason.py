"""Why a run failed, in the five words that the watch backs off by. Pure."""

from __future__ import annotations

import re

from folkmoot.domain.events import RunFailed
from folkmoot.domain.watch_events import Reason

_WORDS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    ("billing", re.compile(r"\b402\b|billing|insufficient[_ ](quota|funds)|payment|credit balance", re.I)),
    ("context_overflow", re.compile(r"context[_ ](length|window|overflow)|prompt is too long", re.I)),
    ("rate_limit", re.compile(r"\b(429|529)\b|rate[_ -]?limit|too many requests|overloaded", re.I)),
    ("timeout", re.compile(r"\b(408|504)\b|time[d]?[_ -]?out|said nothing for", re.I)),
)
"""What providers and this house call it. Billing comes first: some say it with a 429."""
_RESET = re.compile(r"(?:reset|retry|try again)\s+(?:after|in)\s+([0-9]{1,6}(?:\.[0-9]+)?)\s*s", re.I)


def reason_of(failed: RunFailed) -> Reason:
    if failed.stop_reason == "CONTEXT":
        return "context_overflow"
    return next((reason for reason, words in _WORDS if words.search(failed.error)), "unknown")


def reset_after(failed: RunFailed) -> float:
    """The seconds that the provider asked for ("reset after 30s"); 0 if it named none."""
    found = _RESET.search(failed.error)
    return float(found[1]) if found else 0.0
