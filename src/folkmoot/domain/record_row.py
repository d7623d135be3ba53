"""One row of the table of records: what lists and look-ups need of tasks, plans, decisions and work sessions. Pure."""

from __future__ import annotations

from typing import Any

from folkmoot.domain.decision import Decision
from folkmoot.domain.decision_fold import DECISION
from folkmoot.domain.entry import Entry
from folkmoot.domain.gate_events import RecordSources
from folkmoot.domain.plan import Plan
from folkmoot.domain.plan_fold import PLAN
from folkmoot.domain.reference import Kind
from folkmoot.domain.task import Task
from folkmoot.domain.task_fold import TASK
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
from folkmoot.domain.work_session_fold import WORK_SESSION
from folkmoot.errors import JournalDamaged

TITLE = 200
"""Characters."""
_KINDS: dict[str, Kind[Any]] = {kind.prefix: kind for kind in (TASK, PLAN, DECISION, WORK_SESSION)}


class RecordRow(Value):
    id: str
    kind: str
    """`task`, `plan`, `decision`, `ws`: how the id begins."""
    began: int
    """Position in the journal of its first entry."""
    position: int
    """Of its last."""
    version: int
    """How many entries it has."""
    created_at: str
    updated_at: str
    agent: str = ""
    """Whose it is."""
    status: str = ""
    """Empty of a record that cannot be read, and of kinds that have none."""
    work_session: str = ""
    title: str = ""
    """Shortened, in one line."""


def is_record(stream: str) -> bool:
    """Whether a stream is a record, by its name; those of runs have no such beginning."""
    return "_" in stream


class RecordFold:
    """Takes the entries of one record in their order."""

    __slots__ = ("_kind", "_name", "_record", "_stream", "row")

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._name = stream.partition("_")[0]
        self._kind = _KINDS.get(f"{self._name}_")
        self._record: Any = None
        self.row: RecordRow | None = None

    def take(self, entry: Entry) -> None:
        draft, before = entry.draft, self.row
        if self._kind and not isinstance(draft.event, RecordSources):
            try:
                if not draft.ts:
                    raise JournalDamaged("it was not read")
                self._record = self._kind.evolve(self._record, draft)
            except (AssertionError, ValueError, JournalDamaged):  # who reads the record itself is told
                self._kind = self._record = None
        began, created = (before.began, before.created_at) if before else (entry.seq, draft.ts)
        known = (self._stream, self._name, began, entry.seq, entry.run_seq, created, draft.ts)
        self.row = RecordRow(*known, *_described(self._record))


def _described(record: Any) -> tuple[str, ...]:
    """Whose it is, its status, its work session and its title."""
    match record:
        case Task():
            return record.agent_id, record.status, record.work_session_id, _short(record.description)
        case Plan():
            return record.author, record.status, record.work_session, _short(record.title or record.goal)
        case Decision():
            return record.proposed_by, record.status, record.work_session, _short(record.topic)
        case WorkSession():
            return record.created_by, record.state, record.id, _short(record.label or record.goal)
    return ()


def _short(text: str) -> str:
    return " ".join(text.split())[:TITLE]
