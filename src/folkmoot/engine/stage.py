"""What a run needs to happen again: everything it touched, made from its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunCancelled, RunParked, RunStarted, ToolFailed
from folkmoot.domain.fork_events import RunForked, RunRepinned
from folkmoot.domain.inbox_events import ApprovalExpired
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_USER
from folkmoot.domain.older_entries import is_unattended
from folkmoot.engine.fork import AskingTools
from folkmoot.engine.pins import bound_to
from folkmoot.engine.record import Record
from folkmoot.engine.recorded import RecordedCache, RecordedClock, RecordedLedger, RecordedTraffic
from folkmoot.journal.memory import MemoryJournal
from folkmoot.models.recorded import RecordedModel, Turn
from folkmoot.orchestration.chats import Chats
from folkmoot.orchestration.evidence import EvidenceLedger
from folkmoot.orchestration.inbox import NOBODY, Attendance, Inbox
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.kit import Kits
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.readings import Readings
from folkmoot.ports import NewRun, Request, Tools
from folkmoot.tools.recorded import RecordedTools


@dataclass(frozen=True, slots=True)
class Script:
    """What a replay needs beside the entries; all by artifact."""

    graphs: Mapping[str, Graph]
    tools: Mapping[str, Mapping[str, ToolSpec]]
    kept: Mapping[str, bytes]
    overhear: Callable[[Request], None] | None = None
    """Told whatever a model is asked."""


class Stage:
    def __init__(self, run_id: str, record: Record, script: Script, turn: Turn) -> None:
        self._id = run_id
        self._record = record
        self._script = script
        self._turn = turn
        self._kept = MemoryJournal()
        """Only for artifacts: what the run kept, and what it keeps again."""
        for content in script.kept.values():
            self._kept.keep(content)
        self._model = RecordedModel(record.drafts, turn, script.overhear)
        self.clock = RecordedClock(record)

    @property
    def started(self) -> RunStarted:
        event = self._record.drafts[0].event
        assert isinstance(event, RunStarted)
        return event

    @property
    def buried_for(self) -> str:
        """Why the run was ended by somebody who did not run it."""
        event = self._record.drafts[-1].event
        return event.reason if isinstance(event, RunCancelled) else ""

    def log(self) -> RunLog:
        """For the next activation, with what has happened so far; it writes into a memory of its own."""
        together = self._record.drafts[0].work_session_id
        begins = NewRun("replay", 0.0)
        return RunLog(MemoryJournal(), self.clock, self._id, begins, self._record.past, together)

    def run(self, log: RunLog) -> Run:
        graph, tools = self._pinned()
        ledger = RecordedLedger(graph.settings.limits, self.clock, self._record)
        chats, evidence, readings = Chats(), EvidenceLedger(), Readings()
        inbox = self._inbox(log)
        for fold in (ledger, chats, evidence, readings):
            log.watch(fold)
        for draft in log.drafts:
            for watching in (ledger, chats, evidence, readings, inbox.grants):
                watching.fold(draft.span, draft.event)
        return Run(
            id=self._id,
            seed=self.started.seed,
            graph=graph,
            kits=Kits(graph, tools),
            models=self._model,
            tools=tools,
            clock=self.clock,
            log=log,
            keep=self._kept.keep,
            artifact=self._kept.artifact,
            ledger=ledger,
            cache=RecordedCache(self._kept, self.clock, self._record),
            traffic=RecordedTraffic(self._kept, self.clock, self._record),
            turnstile=asyncio.Semaphore(len(self._record.drafts)),
            inbox=inbox,
            chats=chats,
            readings=readings,
            evidence=evidence,
            label=bound_to(self._record.drafts),
        )

    def _pinned(self) -> tuple[Graph, Tools]:
        """As the run was pinned by then."""
        pins = [d.event for d in self._record.past if isinstance(d.event, RunStarted | RunRepinned)]
        pin = pins[-1] if pins else self.started
        graph, drafts = self._script.graphs[pin.graph], self._record.drafts
        longest = max(agent.tuning.tool_response_max_bytes for agent in graph.agents.values())
        tools: Tools = RecordedTools(
            self._script.tools[pin.tools], drafts, self._script.kept, self._turn, longest + 1
        )
        forked = any(isinstance(draft.event, RunForked) for draft in drafts)
        return graph, AskingTools(tools) if forked else tools

    def _inbox(self, log: RunLog) -> Inbox:
        """Whoever was there then says the same; where the run parked, nobody was."""
        rest = list(self._activation())
        parks = bool(rest) and isinstance(rest[-1].event, RunParked)
        denied = any(_is_denied(draft) for draft in rest)
        return Inbox(self._id, log, Attendance(stay=not parks and not denied), deny=denied)

    def _activation(self) -> Iterator[Draft]:
        """What is left of the record up to the next time that the run parks."""
        for draft in self._record.missing():
            yield draft
            if isinstance(draft.event, RunParked):
                return


def _is_denied(draft: Draft) -> bool:
    """Whether nobody was there, and the project takes that for a no."""
    match draft.event:
        case ApprovalExpired(reason=reason, unattended=unattended):
            return unattended or reason == NOBODY
        case ToolFailed(tool=tool, text=text, code=code):
            return code == "unattended" or (tool == ASK_USER and is_unattended(text))
        case _:
            return False
