"""The read model: rows about runs, records, inbox items and spending, each a function of the entries of one stream.

A journal stores the rows beside the entries and the position up to which they follow from them. Rows can always be
made anew from the entries; nothing else is known here about where they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from folkmoot.domain.decision import Decision
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import LlmFailed, LlmResponse, RunForked, RunPruned
from folkmoot.domain.inbox import INBOX_EVENTS, InboxFold, Item
from folkmoot.domain.plan import Plan
from folkmoot.domain.records import DECISION, PLAN, TASK, WORK_SESSION, Kind, RecordSources
from folkmoot.domain.run_row import RUN_EVENTS, RunFold, RunSummary, Spend
from folkmoot.domain.task import Task
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
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
                if draft is UNREAD:
                    raise JournalDamaged("it was not read")
                self._record = self._kind.evolve(self._record, draft)
            except JournalDamaged:  # who reads the record itself is told
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


APPLIED = RUN_EVENTS | INBOX_EVENTS
"""The types of the events of runs that rows follow from."""
_ATTEMPTS = frozenset((LlmResponse.type, LlmFailed.type))
_TABLES = (
    ("runs", RUN_EVENTS - _ATTEMPTS),
    ("inbox", INBOX_EVENTS | {RunPruned.type}),
    ("spend", _ATTEMPTS | {RunForked.type, RunPruned.type}),
)
UNREAD = Draft("", Event())
"""Of an entry of a record that is damaged."""
Past = Callable[[str, int], Iterable[Entry]]
"""The entries of a stream before a position that are `is_applied`."""
_REMEMBERED = 10_000
"""Streams whose folds are kept in memory."""


def is_applied(stream: str, type: str) -> bool:
    """Whether rows follow from an entry."""
    return type in APPLIED or is_record(stream)


def changed_rows(entry: Entry) -> Iterator[tuple[str, str]]:
    """The tables whose rows an entry may change, each with the run or record that these rows are about."""
    for table, types in _TABLES:
        if entry.draft.event.type in types:
            yield table, entry.stream
    if is_record(entry.stream):
        yield "records", entry.stream


class Changes(msgspec.Struct):
    """Rows that differ from what is stored."""

    erased: list[str] = []
    """Runs whose rows of `inbox` are void."""
    unpaid: list[str] = []
    """Runs whose rows of `spend` are void."""
    begun: list[RunSummary] = []
    """Rows of `runs` that may be new or have another start; the others only change what can change after it."""
    runs: list[RunSummary] = []
    items: list[tuple[int, Item]] = []
    """Each with the position of the entry that asked."""
    spend: list[Spend] = []
    records: list[RecordRow] = []


class StreamFold:
    """What the tables say of one stream."""

    __slots__ = ("_asked", "inbox", "is_new", "record", "run")

    def __init__(self, stream: str, *, is_new: bool) -> None:
        self.is_new = is_new
        self.run = RunFold()
        self.inbox = InboxFold(stream)
        self._asked: dict[str, int] = {}
        self.record = RecordFold(stream) if is_record(stream) else None

    def take(self, entry: Entry) -> None:
        type = entry.draft.event.type
        if self.record:
            self.record.take(entry)
        if type in RUN_EVENTS:
            self.run.take(entry)
        if type in INBOX_EVENTS:
            self.inbox.take(entry.draft)
            if len(self.inbox.items) > len(self._asked):
                self._asked[[*self.inbox.items][-1]] = entry.seq

    def settle(self) -> None:
        """Forget which rows changed: they are stored."""
        self.is_new = self.run.changed = self.run.unpaid = False
        self.inbox.changed.clear()
        self.run.spend.clear()

    def collect(self, changes: Changes) -> None:
        run, summary = self.run, self.run.summary
        if summary and run.changed:
            (changes.begun if self.is_new or run.unpaid else changes.runs).append(summary)
            if run.unpaid:
                changes.unpaid.append(summary.run)
            if summary.status == "pruned":
                changes.erased.append(summary.run)
        changes.items += [(self._asked[id], self.inbox.items[id]) for id in self.inbox.changed]
        changes.spend += run.spend
        if self.record and self.record.row:
            changes.records.append(self.record.row)
        self.settle()


class Applier:
    """Applies entries in the order of the journal. It remembers the folds of streams between calls."""

    def __init__(self) -> None:
        self._folds: dict[str, StreamFold] = {}
        self._position = 0
        """Of the last entry that the folds know."""

    def missing(self, entries: Iterable[Entry], before: int) -> dict[str, int]:
        """The streams whose past must be learned before entries that follow on a position, each with where it ends."""
        self._follow(before)
        first = dict[str, Entry]()
        for entry in entries:
            first.setdefault(entry.stream, entry)
        unknown = (entry for name, entry in first.items() if name not in self._folds)
        return {entry.stream: entry.seq for entry in unknown if not _begins(entry)}

    def learn(self, stream: str, past: Iterable[Entry]) -> StreamFold:
        """Give a stream its past: the `is_applied` entries before."""
        fold = self._folds[stream] = StreamFold(stream, is_new=False)
        for entry in past:
            fold.take(entry)
        fold.settle()
        return fold

    def apply(
        self, entries: Iterable[Entry], before: int, position: int, past: Past | None = None
    ) -> Changes:
        """The rows that change with `is_applied` entries from a position up to another one. What is `missing` was
        learned, or `past` gives it."""
        self._follow(before)
        changes, touched, folds = Changes(), dict[str, StreamFold](), self._folds
        for entry in entries:
            name = entry.stream
            fold = folds.get(name)
            if fold is None and past and not _begins(entry):
                fold = self.learn(name, past(name, entry.seq))
            elif fold is None or isinstance(entry.draft.event, RunPruned):
                fold = folds[name] = StreamFold(name, is_new=True)
            fold.take(entry)
            touched[name] = fold
        for name, fold in touched.items():
            fold.collect(changes)
            if fold.run.summary and not fold.run.summary.is_open:
                del folds[name]
        while len(folds) > _REMEMBERED:
            del folds[next(iter(folds))]
        self._position = position
        return changes

    def _follow(self, position: int) -> None:
        if position != self._position:  # somebody else has applied what lies between
            self._folds.clear()
            self._position = position


def _begins(entry: Entry) -> bool:
    return entry.run_seq == 1 or isinstance(entry.draft.event, RunPruned)
