"""Play one case: a run in memory, with the answers that it is given. Nothing of the project's journal is touched.

Every id in it is the same each time, so that what a model cited when it was recorded is there when it is played.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from folkmoot.app import Folkmoot
from folkmoot.coordination.task.document import document as task_document
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.providers import BUILT_IN
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.identity import Identity
from folkmoot.engine.workshop import Surroundings
from folkmoot.errors import FolkmootError
from folkmoot.journal.memory import MemoryJournal
from folkmoot.models.scripted import ScriptedModel
from folkmoot.ports import Clock, Model
from folkmoot.scenarios.answers import Answers
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.clock import HurriedClock
from folkmoot.scenarios.recorded import Recorded, read_recorded
from folkmoot.scenarios.tools import ScenarioTools
from folkmoot.views.decisions import document as decision_document
from folkmoot.views.result import Result

ALWAYS = Identity("scenario", "scenario")
PATIENCE = 60.0
"""Seconds, of real time, for a scenario without a real model: a tool that hangs ends it."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """How scenarios are played."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    """Real models answer, not the scripts."""
    models: Callable[[Graph], Mapping[str, Model]] = lambda graph: {}
    """Stand before the real models."""


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of it. Without a result it could not even begin, and `error` says why."""

    result: Result | None = None
    drafts: list[Draft] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0


async def play(case: Case, graph: Graph, wishes: Wishes) -> Played:
    began = time.monotonic()
    try:
        async with asyncio.timeout(None if wishes.live else PATIENCE):
            played = await _played(case, graph, wishes)
    except FolkmootError as error:
        played = Played(error=str(error))
    except TimeoutError:
        played = Played(error=f"it did not end within {PATIENCE:.0f} s; does one of its tools hang?")
    return replace(played, seconds=time.monotonic() - began)


async def _played(case: Case, graph: Graph, wishes: Wishes) -> Played:
    past = await read_recorded(case.recorded) if case.recorded and not wishes.live else None
    clock: Clock = SystemClock() if wishes.live else HurriedClock()
    tools = ScenarioTools(case.scenario, past.tools(graph) if past else None)
    around = Surroundings(
        clock=clock,
        journal=MemoryJournal(clock.monotonic),
        guard=tools,
        identify=lambda _: past.identity if past else ALWAYS,
    )
    models = wishes.models(graph) if wishes.live else _answering(case, graph, past, clock)
    passing = clock.hurrying(tools.is_busy) if isinstance(clock, HurriedClock) else nullcontext()
    async with (
        Folkmoot.open(case.project, models=models, overrides=wishes.overrides, around=around) as moot,
        passing,
    ):
        answers = Answers(case.scenario.answers, past.drafts if past else ())
        result = await moot.run(case.scenario.agent, case.scenario.request, answer=answers)
        return Played(
            result=result,
            drafts=[entry.draft async for entry in moot.events(result.run_id)],
            surprises=tools.surprises,
            tasks=[task_document(task) for task in (await moot.moot.tasks.all()).values()],
            decisions=[decision_document(decision) for decision in await moot.moot.decisions.all()],
        )


def _answering(case: Case, graph: Graph, past: Recorded | None, clock: Clock) -> Mapping[str, Model]:
    """For every provider, so that nobody outside is asked; none where the project's own scripts answer."""
    model: Model | None = past.model() if past else None
    if case.script:
        model = ScriptedModel(case.script, sleep=clock.sleep)
    return dict.fromkeys({**BUILT_IN, **graph.settings.providers}, model) if model else {}
