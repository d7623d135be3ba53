"""Play one case: a run in memory, with the answers that it is given. Nothing of the project's journal is touched.

Every id in it is the same each time, so that what a model cited when it was recorded is there when it is played.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from folkmoot.app import Folkmoot
from folkmoot.coordination.task_lists import document as task_document
from folkmoot.domain.agent import Graph
from folkmoot.domain.catalogue import named_by
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunStarted
from folkmoot.domain.inbox import Item, Reply
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDenied, QuestionAnswered
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import COORDINATION, wire_name
from folkmoot.domain.providers import BUILT_IN
from folkmoot.engine.claims import ATTEND_EVERY, RunIdentity
from folkmoot.engine.clock import FakeClock, SystemClock
from folkmoot.engine.workshop import Surroundings, ToolGuard
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.journal.codec import to_entry
from folkmoot.journal.copies import open_source
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.models.recorded import RecordedModel, at_once
from folkmoot.models.scripted import ScriptedModel
from folkmoot.ports import Clock, Model, Query, Site, Tools
from folkmoot.scenarios.scenario import (
    Case,
    Scenario,
    ScenarioReply,
    Stub,
    is_tool_match,
    is_value_match,
    to_declared_name,
)
from folkmoot.tools.registry import RecordedTools
from folkmoot.views.decisions import document as decision_document
from folkmoot.views.result import Result

ALWAYS = RunIdentity("scenario", "scenario")
PATIENCE = 60.0
"""Seconds, of real time, for a scenario without a real model: a tool that hangs ends it."""


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """How scenarios are played."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    """Real models answer, not the scripts."""


@dataclass(frozen=True, kw_only=True)
class CaseOutcome:
    """What came of it. Without a result it could not even begin, and `error` says why."""

    result: Result | None = None
    drafts: list[Draft] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0


async def run_case(case: Case, graph: Graph, wishes: ScenarioOptions) -> CaseOutcome:
    began = time.monotonic()
    try:
        async with asyncio.timeout(None if wishes.live else PATIENCE):
            played = await _run_in_memory(case, graph, wishes)
    except FolkmootError as error:
        played = CaseOutcome(error=str(error))
    except TimeoutError:
        played = CaseOutcome(error=f"it did not end within {PATIENCE:.0f} s; does one of its tools hang?")
    return replace(played, seconds=time.monotonic() - began)


async def _run_in_memory(case: Case, graph: Graph, wishes: ScenarioOptions) -> CaseOutcome:
    past = await read_recorded_run(case.recorded) if case.recorded and not wishes.live else None
    clock: Clock = SystemClock() if wishes.live else FastForwardClock()
    recorded = None
    if past:
        longest = max(agent.tuning.tool_response_max_bytes for agent in graph.agents.values())
        recorded = RecordedTools({}, past.drafts, past.whole, at_once, longest + 1)
    tools = ScenarioTools(case.scenario, recorded)
    around = Surroundings(
        clock=clock,
        journal=MemoryJournal(clock.monotonic),
        guard=tools,
        identify=lambda _: past.identity if past else ALWAYS,
    )
    models = {} if wishes.live else _build_models(case, graph, past, clock)
    passing = clock.hurrying(tools.is_busy) if isinstance(clock, FastForwardClock) else nullcontext()
    async with (
        Folkmoot.open(case.project, models=models, overrides=wishes.overrides, around=around) as moot,
        passing,
    ):
        answers = ScriptedResponder(case.scenario.answers, past.drafts if past else ())
        result = await moot.run(case.scenario.agent, case.scenario.request, answer=answers)
        return CaseOutcome(
            result=result,
            drafts=[entry.draft async for entry in moot.events(result.run_id)],
            surprises=tools.surprises,
            tasks=[task_document(task) for task in (await moot.moot.tasks.all()).values()],
            decisions=[decision_document(each) for each in (await moot.moot.decisions.all()).values()],
        )


def _build_models(case: Case, graph: Graph, past: RecordedRun | None, clock: Clock) -> Mapping[str, Model]:
    """For every provider, so that nobody outside is asked; none where the project's own scripts answer."""
    model: Model | None = RecordedModel(past.drafts) if past else None
    if case.script:
        model = ScriptedModel(case.script, sleep=clock.sleep)
    return dict.fromkeys({**BUILT_IN, **graph.settings.providers}, model) if model else {}


class ScriptedResponder:
    def __init__(self, words: Sequence[ScenarioReply], past: Sequence[Draft] = ()) -> None:
        self._words = list(words)
        self._past = past

    async def __call__(self, item: Item) -> Reply | None:
        fitting = [word for word in self._words if _is_reply_to(word, item)]
        if not fitting:
            return self._recorded(item)
        word = fitting[0]
        if len(fitting) > 1:
            self._words.remove(word)
        if item.kind == "question":
            return item.answer(word.answer)
        return item.deny(word.reason) if word.deny else item.approve()

    def _recorded(self, item: Item) -> Reply | None:
        for draft in self._past:
            match draft.event:
                case QuestionAnswered(id=item.id, text=text, by=by):
                    return item.answer(text, by)
                case ApprovalApproved(id=item.id, by=by, scope=scope):
                    return item.approve(by, scope)
                case ApprovalDenied(id=item.id, reason=reason, by=by):
                    return item.deny(reason, by)
        return None


def _is_reply_to(word: ScenarioReply, item: Item) -> bool:
    if item.kind == "question":
        return bool(word.answer) and word.to.casefold() in item.question.casefold()
    return item.kind == "approval" and is_tool_match(word.approve or word.deny, item.tool)


_LOOK = 0.002
"""Seconds, of real time, between looks at work outside that is under way."""


class FastForwardClock(FakeClock):
    async def sleep(self, seconds: float) -> None:
        """Who only looks whether others left something looks no more: in a scenario there are no others, and time
        would pass in the smallest of steps."""
        await super().sleep(math.inf if seconds == ATTEND_EVERY else seconds)

    @asynccontextmanager
    async def hurrying(self, busy: Callable[[], bool]) -> AsyncIterator[None]:
        """Time stands while something outside is `busy`: that takes the time it takes."""
        task = asyncio.create_task(self._hurry(busy))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _hurry(self, busy: Callable[[], bool]) -> None:
        while True:
            await self._settle()
            waiting = sorted(each for each in self._sleepers if not each[2].done())
            if busy() or not waiting or waiting[0][0] == math.inf:
                await asyncio.sleep(_LOOK)
                continue
            self._sleepers = waiting  # a pause that nobody waits for any more takes no time
            await self.advance(waiting[0][0] - self._elapsed)


@dataclass(frozen=True)
class RecordedRun:
    identity: RunIdentity
    """With the same name and seed everything in the run is called as it was then."""
    drafts: list[Draft]
    whole: dict[str, bytes]


async def read_recorded_run(path: Path) -> RecordedRun:
    """Raises `WrongUse` for a file that does not hold just one run."""
    source = open_source(path)
    try:
        entries = [to_entry(stored) async for stored in source.stored(Query())]
        started = [(each.stream, each.event) for each in entries if isinstance(each.event, RunStarted)]
        if len(started) != 1:
            raise WrongUse(f"{path} holds {len(started)} runs; `folkmoot log export RUN` writes one")
        run, event = started[0]
        drafts = [entry.draft for entry in entries if entry.stream == run]
        whole: dict[str, bytes] = {}
        for id in {id for draft in drafts for id in named_by(draft.event)}:
            with suppress(KeyError):  # an exported log names artifacts and holds none
                whole[id] = await source.artifact(id)
        return RecordedRun(RunIdentity(run, event.seed), drafts, whole)
    finally:
        await source.close()


class ScenarioTools(ToolGuard):
    """Stands before the real ones. Calls that nobody said a word about are `surprises`, and fail the scenario."""

    _tools: Tools

    def __init__(self, scenario: Scenario, recorded: RecordedTools | None = None) -> None:
        self._scenario = scenario
        self._recorded = recorded
        self._specs: dict[str, ToolSpec] = {}
        self._under_way = 0
        self.surprises: list[str] = []

    def before(self, tools: Tools) -> Tools:
        self._tools = tools
        return self

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        specs = self._tools.specs(names)
        self._specs.update((spec.name, spec) for spec in specs)
        return specs

    def needs(self, tool: str) -> bool:
        return not self._recorded and not self._stubs(wire_name(tool))

    def is_busy(self) -> bool:
        """Whether a real tool is at work."""
        return self._under_way > 0

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        if stubs := self._stubs(call.tool):
            return self._stubbed(stubs, call)
        if self._recorded:
            return await self._recorded.call(call, site)
        spec = self._specs.get(call.tool)
        if spec is None or not self._may_be_called(spec):
            return self._surprised(call, site, spec)
        self._under_way += 1
        try:
            return await self._tools.call(call, site)
        finally:
            self._under_way -= 1

    def _stubs(self, wire: str) -> Sequence[Stub]:
        return next((stubs for name, stubs in self._scenario.tools.items() if is_tool_match(name, wire)), ())

    def _stubbed(self, stubs: Sequence[Stub], call: ToolCall) -> ToolResult:
        for stub in stubs:
            if is_value_match(stub.arguments, call.arguments):
                if stub.error:
                    return ToolResult(stub.error, failed=True)
                return ToolResult(stub.text if stub.json is None else msgspec.json.encode(stub.json).decode())
        self.surprises.append(
            f"{to_declared_name(call.tool)} was called with {call.arguments}, and no result under `tools` fits"
        )
        return ToolResult("the scenario has no result for these arguments", failed=True)

    def _may_be_called(self, spec: ToolSpec) -> bool:
        """What coordination writes, it writes into the journal of the scenario."""
        if any(is_tool_match(name, spec.name) for name in (*self._scenario.allow, *COORDINATION)):
            return True
        return spec.access == "read" or (spec.effect == "pure" and spec.access != "egress")

    def _surprised(self, call: ToolCall, site: Site, spec: ToolSpec | None) -> ToolResult:
        does = f"{spec.effect}, {spec.access}" if spec else "unknown"
        name = to_declared_name(call.tool)
        remedy = f"give its result under `tools: {{{name}: …}}`, or say `allow: [{name}]`"
        self.surprises.append(f"{site.agent} called {name} ({does}), which does more than read: {remedy}")
        return ToolResult("the scenario does not let this tool be called", failed=True)
