"""Checks everything that a journal, a backup, a bundle or an exported log can show, entry by entry.

Remembered are the state of each run that has not ended yet, and of every stream where it ends. So memory is bounded
by what was under way at once, not by the length of the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from folkmoot.contract.folds import TITLES, Effects, Ends, Fault, GateFold, Guarantee, GuaranteeFold, Stop
from folkmoot.contract.replay import Budgets, NoTools, Replay
from folkmoot.domain.agent import Graph
from folkmoot.domain.catalogue import named_by
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import ArtifactCreated, RunPruned, RunStarted, ToolStarted
from folkmoot.errors import JournalDamaged
from folkmoot.journal.codec import UNREADABLE, Head, broken_link, place_of, to_entry
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.ports import Query, Stored
from folkmoot.views.figures import counted

KEPT = 1_000
"""Faults that are told one by one; of a file that is wrong throughout, the rest is only counted."""


@dataclass
class Verification:
    counts: Counter[str] = field(default_factory=Counter)
    """How much was looked at, by the words below."""
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    """What holds, and is worth a look all the same."""
    by_guarantee: Counter[str] = field(default_factory=Counter)
    artifacts: bool = True
    """Whether the artifacts are there to be checked; an exported log has none."""
    state_hash: str = ""
    """Of one run: what its sessions knew at their ends."""
    heads: dict[str, Head] = field(default_factory=dict)
    """Where each stream ends; one that was pruned, where it ended before."""

    @property
    def holds(self) -> bool:
        return not self.by_guarantee

    def add(self, fault: Fault) -> None:
        self.by_guarantee[fault.guarantee] += 1
        if len(self.faults) < KEPT:
            self.faults.append(fault)

    def note(self, found: Fault) -> None:
        self.counts["notes"] += 1
        if len(self.notes) < KEPT:
            self.notes.append(found)

    def checked(self) -> Iterator[tuple[Guarantee, str]]:
        """One line for each guarantee: what was looked at."""
        count, calls = self.counts, self._counted("tool.started", "tool call")
        twice = f", {count['notes']:,} of them begun under two claims" if count["notes"] else ""
        asked, entries = (
            self._counted("llm.request", "model request"),
            counted(count["entries"], "entry", "entries"),
        )
        yield "C1", self._durability()
        yield "C2", f"{self._counted('streams', 'stream')}, {entries}, dense and chained"
        yield "C3", f"{asked}, {calls} ({count['keyed']:,} keyed, {count['once']:,} once{twice})"
        yield "C4", self._replay()
        yield "C5", f"{self._counted('run.cancel_requested', 'stop')}; what came after is no new call"
        yield "C6", self._bounds()
        yield "C7", f"{calls}, {self._counted('approval.approved', 'approval')}, each for exactly its call"

    def _counted(self, name: str, word: str) -> str:
        return counted(self.counts[name], word)

    def to_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "checked": {
                guarantee: {
                    "title": TITLES[guarantee],
                    "checked": words,
                    "faults": self.by_guarantee[guarantee],
                }
                for guarantee, words in self.checked()
            },
            "entries": self.counts["entries"],
            "runs": self.counts["runs"],
            "stateHash": self.state_hash or None,
            "faults": msgspec.to_builtins(self.faults),
            "notes": msgspec.to_builtins(self.notes),
        }

    def _durability(self) -> str:
        if not self.artifacts:
            return "not checked: this file holds no artifacts, and what a power cut took no file can show"
        found = self._counted("artifacts", "artifact")
        return f"{found} there and unchanged; what a power cut took no journal can show"

    def _replay(self) -> str:
        folded = self._counted("session.started", "session")
        if self.counts["session.started"] and not self.counts["graphs"]:
            return f"not checked: the agents of {folded} are an artifact, and it is not there"
        return f"{folded} folded; {self.counts['followed']:,} ends follow from what was recorded"

    def _bounds(self) -> str:
        runs, ended, pruned = (self.counts[name] for name in ("runs", "ended", "pruned"))
        budgets = "within their budgets" if self.counts["graphs"] or runs == pruned else "budgets not checked"
        total = self._counted("runs", "run")
        return (
            f"{total}: {ended:,} ended once, {runs - ended - pruned:,} not yet, {pruned:,} pruned; {budgets}"
        )


_TOLD_EVERY = 5_000


class VerifiedSource(Protocol):
    """What can be checked; every `ports.Journal` is one."""

    def stored(self, query: Query) -> AsyncIterator[Stored]: ...

    async def artifact(self, id: str) -> bytes: ...


Told = Callable[[int], None]
"""Told now and then how many entries were looked at."""


async def verify(
    source: VerifiedSource, stream: str = "", *, artifacts: bool = True, told: Told | None = None
) -> Verification:
    """All of it, or one stream. Without `artifacts` nothing is said about them, nor about what is pinned there."""
    checking = _Checking(source, Verification(artifacts=artifacts))
    try:
        async for stored in source.stored(Query(stream=stream)):
            await checking.take(stored)
            if told and stored.seq % _TOLD_EVERY == 0:
                told(checking.verdict.counts["entries"])
    except JournalDamaged as error:
        checking.break_off(str(error))
    return checking.done(stream)


class _Run:
    """The folds of a run that is under way."""

    def __init__(self, ends: Ends, pinned: _Pinned | None, name: str) -> None:
        self.folds: list[GuaranteeFold] = [Effects(), Stop(), ends, GateFold()]
        self.replay = Replay(name, pinned.graph, pinned.kits) if pinned else None
        if pinned and self.replay:
            self.folds += [Budgets(pinned.graph), self.replay]


class _Pinned(msgspec.Struct, frozen=True):
    graph: Graph
    kits: ToolsetFactory


class _CheckedStream(msgspec.Struct):
    head: Head | None = None
    ends: Ends | None = None
    """Absent in a stream that is no run, or whose beginning is missing."""


class _Checking:
    def __init__(self, source: VerifiedSource, verdict: Verification) -> None:
        self.verdict = verdict
        self._source = source
        self._streams: dict[str, _CheckedStream] = {}
        self._under_way: dict[str, _Run] = {}
        self._pinned: dict[str, _Pinned | None] = {}
        self._sizes: dict[str, int] = {}
        """Of the artifacts that were looked at; -1 for one that is not as it was kept."""
        self._buried: dict[str, Head] = {}
        """Where pruned streams ended before."""
        self._seq = 0

    async def take(self, stored: Stored) -> None:
        counts = self.verdict.counts
        if not stored.stream:  # nobody can say what it was
            self._fault("C2", stored, stored.fault or "it belongs to no run")
            return
        counts["entries"] += 1
        stream = self._streams.get(stored.stream)
        if stream is None:
            stream = self._streams[stored.stream] = _CheckedStream()
            counts["streams"] += 1
        if stored.seq <= self._seq:
            self._fault("C2", stored, f"it stands behind entry {self._seq} of the journal")
        self._seq = stored.seq
        try:
            entry = to_entry(stored)
        except JournalDamaged as error:
            place = place_of(stored.seq, stored.stream, stored.run_seq)
            self._fault("C2", stored, str(error).removeprefix(f"{place}: "))
            stream.head = Head(stored.run_seq, stored.id)
            return
        if fault := broken_link(stream.head, entry):
            self._fault("C2", stored, fault)
        stream.head = Head(entry.run_seq, entry.id)
        await self._look_into(stored, entry, stream)

    async def _look_into(self, stored: Stored, entry: Entry, stream: _CheckedStream) -> None:
        event, counts = entry.event, self.verdict.counts
        counts[event.type] += 1
        for id in named_by(event):
            await self._look_at(id, stored, event.size if isinstance(event, ArtifactCreated) else -1)
        if isinstance(event, ToolStarted):
            counts[event.effect] += 1
        elif isinstance(event, RunStarted) and entry.run_seq == 1:
            await self._begin(stored, stream, event)
        elif isinstance(event, RunPruned) and stream.ends is None:
            counts["runs"] += 1
            counts["pruned"] += 1
            stream.ends = Ends()
            self._buried[entry.stream] = Head(entry.run_seq - 1, entry.prev)
        if stream.ends is None:
            return
        run = self._under_way.get(entry.stream)
        folds = [fold for fold in run.folds if type(event) in fold.takes] if run else [stream.ends]
        for fold in folds:
            if words := fold.take(entry.draft):
                self._fault(fold.guarantee, stored, words)
            if isinstance(fold, Effects) and fold.note:
                self.verdict.note(_found(fold.guarantee, stored, fold.note))
        if run and stream.ends.end:
            self._end(entry.stream, run)

    async def _begin(self, stored: Stored, stream: _CheckedStream, event: RunStarted) -> None:
        self.verdict.counts["runs"] += 1
        stream.ends = Ends()
        pinned = await self._graph(event.graph, stored)
        self._under_way[stored.stream] = _Run(stream.ends, pinned, stored.stream)

    def _end(self, name: str, run: _Run) -> None:
        del self._under_way[name]
        self.verdict.counts["ended"] += 1
        self._count(run)

    def _count(self, run: _Run) -> None:
        if run.replay:
            self.verdict.counts["followed"] += run.replay.followed
            self.verdict.state_hash = run.replay.state_hash

    def done(self, stream: str) -> Verification:
        for run in self._under_way.values():
            self._count(run)
        if not stream:
            self.verdict.state_hash = ""
        self.verdict.heads = {name: each.head for name, each in self._streams.items() if each.head}
        self.verdict.heads |= self._buried
        return self.verdict

    def break_off(self, why: str) -> None:
        """What cannot be read at all; what comes behind it is unknown."""
        words = f"nothing can be read behind entry {self._seq}: {why}"
        self.verdict.add(Fault("C1", "", 0, self._seq, "", words))

    async def _look_at(self, id: str, stored: Stored, size: int) -> None:
        """Each artifact once, however many entries name it."""
        if not self.verdict.artifacts:
            return
        if id not in self._sizes:
            self.verdict.counts["artifacts"] += 1
            try:
                self._sizes[id] = len(await self._source.artifact(id))
            except KeyError:
                self._sizes[id] = -1
                self._fault("C1", stored, f"it names the artifact {id}, which is missing")
            except JournalDamaged as error:
                self._sizes[id] = -1
                self._fault("C1", stored, str(error))
        if size >= 0 and self._sizes[id] not in (-1, size):
            self._fault("C1", stored, f"it names {size} bytes, and the artifact {id} has {self._sizes[id]}")

    async def _graph(self, id: str, stored: Stored) -> _Pinned | None:
        """What the run is pinned to; most runs share one."""
        if id not in self._pinned:
            self._pinned[id] = None
            if self.verdict.artifacts and self._sizes.get(id, -1) >= 0:
                try:
                    graph = msgspec.json.decode(await self._source.artifact(id), type=Graph)
                except UNREADABLE as error:
                    self._fault("C4", stored, f"the project that it is pinned to cannot be read: {error}")
                    return None
                self.verdict.counts["graphs"] += 1
                self._pinned[id] = _Pinned(graph, ToolsetFactory(graph, NoTools()))
        return self._pinned[id]

    def _fault(self, guarantee: Guarantee, stored: Stored, words: str) -> None:
        self.verdict.add(_found(guarantee, stored, words))


def _found(guarantee: Guarantee, stored: Stored, words: str) -> Fault:
    return Fault(guarantee, stored.stream, stored.run_seq, stored.seq, stored.id, words)
