"""What each agent does now, as far as its sessions tell: a fold over events. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SessionCancelled, SessionCompleted, SessionFailed, SessionStarted
from folkmoot.domain.value import Value


class Row(Value):
    """One agent of the team."""

    agent: str
    status: Literal["active", "idle", "interrupted"] = "idle"
    task: str = ""
    """What it works on."""
    last_activity: str = ""
    failure: str = ""
    """Why it last failed; empty once it has gone on."""


Rows = Callable[[], Awaitable[Sequence[Row]]]
"""The team as it is now."""


class Roster:
    """Of all agents that ever worked, by their ids."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._open: dict[str, set[str]] = {}

    @property
    def rows(self) -> list[Row]:
        return [self._rows[agent] for agent in sorted(self._rows)]

    def add(self, draft: Draft) -> None:
        if not draft.agent_id or not draft.session_id:
            return
        row = replace(self._rows.get(draft.agent_id, Row(draft.agent_id)), last_activity=draft.ts)
        sessions = self._open.setdefault(draft.agent_id, set())
        match draft.event:
            case SessionStarted() as event:
                sessions.add(draft.session_id)
                row = replace(row, task=event.title or event.request, failure="")
            case SessionFailed() as event:
                sessions.discard(draft.session_id)
                row = replace(row, failure=event.outcome.report.content or event.outcome.stop_reason)
            case SessionCompleted() | SessionCancelled():
                sessions.discard(draft.session_id)
        status = "active" if sessions else "interrupted" if row.failure else "idle"
        self._rows[draft.agent_id] = replace(row, status=status, task=row.task if sessions else "")
