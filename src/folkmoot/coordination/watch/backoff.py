"""How long an agent is left alone after its runs failed. Pure."""

from __future__ import annotations

from folkmoot.coordination.team.health import Failure
from folkmoot.domain.task import Reason

SECONDS: dict[Reason, float] = {
    "rate_limit": 60.0,
    "billing": 3_600.0,
    "timeout": 60.0,
    "context_overflow": 1_800.0,
    "unknown": 300.0,
}
"""After the first failure."""
LEAST_RESET = 10.0
MOST_TIMES = 8
MOST = 7_200.0


def backoff(failure: Failure, in_a_row: int) -> float:
    """Twice as long with every failure in a row."""
    first = SECONDS[failure.reason]
    if failure.reason == "rate_limit" and failure.reset_after:
        first = max(failure.reset_after, LEAST_RESET)
    return float(min(first * min(2 ** max(0, in_a_row - 1), MOST_TIMES), MOST))
