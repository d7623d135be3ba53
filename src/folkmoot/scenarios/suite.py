"""All scenarios that were asked for: read and checked as a whole, then played, several at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Graph, find_agent
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.naming import BUILT_IN, COORDINATION, QUESTIONS, wire_name
from folkmoot.domain.providers import BUILT_IN as KNOWN
from folkmoot.domain.secrets import secrets_of
from folkmoot.domain.value import Value
from folkmoot.engine.admission import find_reachable_agents
from folkmoot.engine.workshop import Surroundings, ToolGuard
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.loader.document import Path as Keys
from folkmoot.loader.findings import Findings, near
from folkmoot.ports import Tools
from folkmoot.scenarios.playing import ScenarioOptions, run_case
from folkmoot.scenarios.reading import read_cases
from folkmoot.scenarios.recording import Said, build_recorded_script
from folkmoot.scenarios.scenario import Case, is_tool_match
from folkmoot.scenarios.verdict import Verdict, build_skipped_verdict, build_verdict
from folkmoot.tools.registry import Registry

AT_ONCE = 8


@dataclass(frozen=True)
class Suite:
    cases: Sequence[Case]
    projects: Mapping[Path, ScenarioProject]

    async def play(self, wishes: ScenarioOptions, told: Callable[[Verdict], None]) -> list[Verdict]:
        """In whatever order they end, they are told in the order of the files."""
        turnstile = asyncio.Semaphore(AT_ONCE)

        async def verdict(case: Case) -> Verdict:
            if case.needs_model and not wishes.live:
                return build_skipped_verdict(case)
            async with turnstile:
                return build_verdict(case, await run_case(case, self.projects[case.project].graph, wishes))

        verdicts: list[Verdict] = []
        async with asyncio.TaskGroup() as group:
            for task in [group.create_task(verdict(case)) for case in self.cases]:
                verdicts.append(await task)
                told(verdicts[-1])
        return verdicts

    async def record(self, case: Case, wishes: ScenarioOptions) -> tuple[Verdict, Said]:
        """Play a case with real models, and what they answered; no secret of this environment is in it."""
        graph = self.projects[case.project].graph
        played = await run_case(case, graph, replace(wishes, live=True))
        if played.error:
            raise OperationFailed(f"{case.shown}:{case.place.line}: nothing was recorded: {played.error}")
        redact = secrets_of(graph.settings, os.environ).text
        return build_verdict(case, played), build_recorded_script(played.drafts, graph, redact)


async def load_suite(files: Sequence[Path], wishes: ScenarioOptions) -> Suite:
    """Raises `DeclarationError` with everything that is wrong in any of the files."""
    findings = Findings("bad_scenario")
    cases = [case for file in files for case in read_cases(file, findings)]
    projects = {case.project: await inspect_project(case.project, wishes.overrides) for case in cases}
    for case in cases:
        check_case(case, projects[case.project], findings, live=wishes.live)
    findings.settle()
    return Suite(cases, projects)


_OF_THE_RUNTIME = (
    "agent.final_report",
    "agent.ask_clarification",
    "artifact.read",
    "call_agent",
    "call_agents_parallel",
    "plan.update",
)


class ScenarioProject(Value):
    """A project, as far as scenarios may speak of it."""

    graph: Graph
    tools: tuple[str, ...]

    @property
    def callable(self) -> list[str]:
        """Whatever a model might call here."""
        agents = [f"agent.{agent.tool_name}" for agent in self.graph.agents.values()]
        return [*self.tools, *agents, *BUILT_IN, *COORDINATION, *QUESTIONS, *_OF_THE_RUNTIME]


async def inspect_project(project: Path, overrides: Mapping[str, str]) -> ScenarioProject:
    """Raises what opening the project raises: its own faults come before those of its scenarios."""
    seen = _ToolNameCollector()
    around = Surroundings(journal=MemoryJournal(), guard=seen)
    async with Folkmoot.open(project, overrides=overrides, around=around) as moot:
        return ScenarioProject(moot.graph, tuple(seen.names))


class _ToolNameCollector(ToolGuard):
    """Only looks which tools there are."""

    names: list[str]

    def before(self, tools: Tools) -> Tools:
        assert isinstance(tools, Registry)
        self.names = tools.names
        return tools


def check_case(case: Case, project: ScenarioProject, findings: Findings, *, live: bool) -> None:
    """`live`: a real model answers, so that no script is needed."""
    scenario = case.scenario
    try:
        root = find_agent(project.graph, scenario.agent)
        answered = case.script or case.recorded or live or case.live
        providers = {**KNOWN, **project.graph.settings.providers}
        models = (choice for agent in find_reachable_agents(project.graph, root) for choice in agent.models)
        kinds = {providers[choice.provider].kind for choice in models}
        if not answered and kinds != {"scripted"}:
            remedy = "write a `script`, name a `recorded` run, or record one with --record"
            findings.error(case.place, f"nobody answers for the models of {root.file}: {remedy}")
    except WrongUse as error:
        message = str(error) if scenario.agent else "name the `agent` that is asked"
        findings.error(case.place_of(("agent",)), message)
    for keys, name in _list_named_tools(case):
        if not any(is_tool_match(name, wire_name(each)) for each in project.callable):
            hint = near(name, project.callable) or f"; there are {', '.join(project.tools) or 'none'}"
            findings.error(case.place_of(keys), f"this project has no tool {name!r}{hint}")
    for type in scenario.expect.events:
        if type not in EVENTS:
            hint = near(type, EVENTS) or "; docs/reference/events.md lists them"
            findings.error(case.place_of(("expect", "events", type)), f"there is no event {type!r}{hint}")


def _list_named_tools(case: Case) -> Iterator[tuple[Keys, str]]:
    expect = case.scenario.expect
    listed: dict[Keys, Sequence[str]] = {
        ("tools",): list(case.scenario.tools),
        ("allow",): case.scenario.allow,
        ("expect", "calls"): [call.tool for call in expect.calls],
        ("expect", "notCalled"): expect.not_called,
        ("expect", "approvals"): expect.approvals or (),
    }
    for keys, names in listed.items():
        for number, name in enumerate(names):
            yield (*keys, name if keys == ("tools",) else number), name
