"""Why a run failed, in the five words that the watch backs off by. Pure."""

from __future__ import annotations

from folkmoot.domain import older_entries
from folkmoot.domain.events import RunFailed
from folkmoot.domain.task import Reason


def reason_of(failed: RunFailed) -> Reason:
    if failed.stop_reason == "CONTEXT":
        return "context_overflow"
    return failed.kind or older_entries.failure_kind(failed.error)


def reset_after(failed: RunFailed) -> float:
    """The seconds that the provider asked for; 0 if it named none."""
    return failed.reset_after if failed.kind else older_entries.reset_after(failed.error)
