"""What entries say only in words that were written before their events had a field for it. Pure.

Nothing else may go by the wording of an event (`checks/wording.py`); entries of today have the fields.
"""

from __future__ import annotations

import re

import msgspec

from folkmoot.domain.message import Grounds, Records, RecordState
from folkmoot.errors import FailureKind

_PLAN = re.compile(r"(plan_\w+) \((\w+)\):")
_KINDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("billing", re.compile(r"\b402\b|billing|insufficient[_ ](quota|funds)|payment|credit balance", re.I)),
    ("context_overflow", re.compile(r"context[_ ](length|window|overflow)|prompt is too long", re.I)),
    ("rate_limit", re.compile(r"\b(429|529)\b|rate[_ -]?limit|too many requests|overloaded", re.I)),
    ("timeout", re.compile(r"\b(408|504)\b|time[d]?[_ -]?out|said nothing for|did not answer in time", re.I)),
)
"""What providers call it, too. Billing comes first: some say it with a 429."""
_RESET = re.compile(r"(?:reset|retry|try again)\s+(?:after|in)\s+([0-9]{1,6}(?:\.[0-9]+)?)\s*s", re.I)
_STATUS = re.compile(r"\banswered ([45]\d\d)\b")
_FAILED = "(tool failed: "


class _TaskAnswer(msgspec.Struct):
    task_id: str
    agent_id: str
    status: str


def plan_states(text: str) -> Records:
    """Of the result of a tool for plans."""
    begun = _PLAN.match(text)
    return (RecordState(begun[1], begun[2], ""),) if begun else ()


def task_states(text: str) -> Records:
    """Of the result of a tool for tasks."""
    try:
        said = msgspec.json.decode(text, type=_TaskAnswer)
    except msgspec.MsgspecError:
        return ()
    return (RecordState(said.task_id, said.status, said.agent_id),)


def grounds(decision: str) -> Grounds:
    if decision.startswith("granted: "):
        return "granted"
    return "approved" if decision.startswith("approved: ") else "allowed"


def bare_failure(text: str) -> str:
    """What models read of a failed call, without the frame around it."""
    return text.removeprefix(_FAILED).removesuffix(")")


def is_unattended(text: str) -> bool:
    return text.startswith(f"{_FAILED}approval_timeout")


def is_destroyed_by_run(reason: str) -> bool:
    return reason.endswith((" has ended", " was destroyed", "the run was cancelled"))


def is_cancelled_with_run(reason: str) -> bool:
    return reason == "the run was cancelled"


def failure_kind(error: str) -> FailureKind:
    return next((kind for kind, words in _KINDS if words.search(error)), "unknown")


def reset_after(error: str) -> float:
    found = _RESET.search(error)
    return float(found[1]) if found else 0.0


def failure_status(error: str) -> int:
    found = _STATUS.search(error)
    return int(found[1]) if found else 0
