"""Whether somebody who looks on wants to be told of something. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from folkmoot.domain.entry import Draft, Entry, role
from folkmoot.ports import Filter

DELTA = "delta"
"""What a piece of an answer goes by among the types of events. It is none: it is never recorded."""


def fits(wanted: Filter, entry: Entry) -> bool:
    """By run, work session, session, agent, role, type and time; not by step, which only the index knows."""
    return _fits(wanted, entry.stream, entry.draft, entry.event.type)


def delta_fits(wanted: Filter, run: str, began: Draft) -> bool:
    """For a piece of what is said in the session that began with this."""
    return _fits(wanted, run, began, DELTA)


def wants_deltas(wanted: Filter) -> bool:
    """Only who looks at one run, session or agent: the talk of all at once is of no use to anybody."""
    close_by = bool(wanted.run or wanted.session or wanted.agent)
    return close_by and _is_any_of(DELTA, wanted.types)


def is_narrow(wanted: Filter) -> bool:
    """Whether what fits is better looked up than sorted out."""
    return bool(wanted.work_session or wanted.session or wanted.agent or wanted.role or wanted.types)


def _fits(wanted: Filter, stream: str, draft: Draft, type: str) -> bool:
    return (
        wanted.run in ("", stream)
        and wanted.work_session in ("", draft.work_session_id)
        and wanted.session in ("", draft.session_id)
        and wanted.agent in ("", draft.agent_id)
        and _is_any_of(type, wanted.types)
        and (not wanted.role or wanted.role == role(draft))
        and wanted.since <= draft.ts
        and not (wanted.until and draft.ts >= wanted.until)
    )


def _is_any_of(type: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(type, pattern) for pattern in patterns)
