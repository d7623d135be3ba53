"""Whether what scenarios name is there: a misspelt tool in `notCalled` would otherwise always pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Graph, find_agent
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.naming import BUILT_IN, COORDINATION, QUESTIONS, wire_name
from folkmoot.domain.providers import BUILT_IN as KNOWN
from folkmoot.domain.value import Value
from folkmoot.engine.admission import reachable
from folkmoot.engine.workshop import Surroundings, Unguarded
from folkmoot.errors import WrongUse
from folkmoot.journal.memory import MemoryJournal
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import near
from folkmoot.loader.nodes import Path as Keys
from folkmoot.ports import Tools
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.matching import is_tool
from folkmoot.tools.registry import Registry

_OF_THE_RUNTIME = (
    "agent.final_report",
    "agent.ask_clarification",
    "artifact.read",
    "call_agent",
    "call_agents_parallel",
    "plan.update",
)


class Surveyed(Value):
    """A project, as far as scenarios may speak of it."""

    graph: Graph
    tools: tuple[str, ...]

    @property
    def callable(self) -> list[str]:
        """Whatever a model might call here."""
        agents = [f"agent.{agent.tool_name}" for agent in self.graph.agents.values()]
        return [*self.tools, *agents, *BUILT_IN, *COORDINATION, *QUESTIONS, *_OF_THE_RUNTIME]


async def survey(project: Path, overrides: Mapping[str, str]) -> Surveyed:
    """Raises what opening the project raises: its own faults come before those of its scenarios."""
    seen = _Seen()
    around = Surroundings(journal=MemoryJournal(), guard=seen)
    async with Folkmoot.open(project, overrides=overrides, around=around) as moot:
        return Surveyed(moot.graph, tuple(seen.names))


class _Seen(Unguarded):
    """Only looks which tools there are."""

    names: list[str]

    def before(self, tools: Tools) -> Tools:
        assert isinstance(tools, Registry)
        self.names = tools.names
        return tools


def check_case(case: Case, project: Surveyed, findings: Findings, *, live: bool) -> None:
    """`live`: a real model answers, so that no script is needed."""
    scenario = case.scenario
    try:
        root = find_agent(project.graph, scenario.agent)
        answered = case.script or case.recorded or live or case.live
        kinds = {
            _kind(project.graph, choice.provider)
            for agent in reachable(project.graph, root)
            for choice in agent.models
        }
        if not answered and kinds != {"scripted"}:
            remedy = "write a `script`, name a `recorded` run, or record one with --record"
            findings.error(case.place, f"nobody answers for the models of {root.file}: {remedy}")
    except WrongUse as error:
        message = str(error) if scenario.agent else "name the `agent` that is asked"
        findings.error(case.place_of(("agent",)), message)
    for keys, name in _tools(case):
        if not any(is_tool(name, wire_name(each)) for each in project.callable):
            hint = near(name, project.callable) or f"; there are {', '.join(project.tools) or 'none'}"
            findings.error(case.place_of(keys), f"this project has no tool {name!r}{hint}")
    for type in scenario.expect.events:
        if type not in EVENTS:
            hint = near(type, EVENTS) or "; docs/reference/events.md lists them"
            findings.error(case.place_of(("expect", "events", type)), f"there is no event {type!r}{hint}")


def _kind(graph: Graph, provider: str) -> str:
    return {**KNOWN, **graph.settings.providers}[provider].kind


def _tools(case: Case) -> Iterator[tuple[Keys, str]]:
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
