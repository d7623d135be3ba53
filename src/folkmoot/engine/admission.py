"""Which agents can be run, by which names, and what is refused before a run begins: nothing is recorded or asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import COORDINATION, QUESTIONS, WIRE_LENGTH
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.errors import DeclarationError, Problem, WrongUse
from folkmoot.orchestration.kit import Kits, facing, is_strict
from folkmoot.orchestration.runtime_tools import ARTIFACT_READ, ASKING_AGENTS, PLAN_UPDATE
from folkmoot.session.schema import unfit_input

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{WIRE_LENGTH}}}")
_EXITS = (FINAL_REPORT, ROUTE, BROADCAST)
_RUNTIME = (*_EXITS, *ASKING_AGENTS, *COORDINATION, *QUESTIONS, PLAN_UPDATE.name, ARTIFACT_READ)


def admit(graph: Graph, root: Agent, missing_key: Callable[[str], str]) -> None:
    """Raises `DeclarationError` for whatever keeps this agent, or one that it needs, from running.

    `missing_key` names the environment variable that a provider needs and that is not set.
    """
    if problems := [*against_contract(graph, root), *_without_key(graph, root, missing_key)]:
        raise DeclarationError(problems)


def check_request(agent: Agent, request: str) -> None:
    """Raises `WrongUse` for a request that the agent does not take."""
    if not request.strip():
        raise WrongUse(f"there is nothing to ask {agent.file}; give it a text")
    if wrong := unfit_input(agent, request):
        raise WrongUse(wrong)


def names_in_use(graph: Graph, kits: Kits, root: Agent) -> dict[str, str]:
    """Names that a tool of the caller cannot have, with who has them."""
    taken = dict.fromkeys(_RUNTIME, "the runtime")
    for agent in facing(graph, root):
        taken |= dict.fromkeys((spec.name for spec in kits.of(agent).tools), agent.file)
    return taken


def check_tools(graph: Graph, kits: Kits, root: Agent, tools: Sequence[ToolSpec]) -> None:
    """Raises `WrongUse` for a tool of the caller that a model could not call, or not tell from another."""
    taken = names_in_use(graph, kits, root) if tools else {}
    for spec in tools:
        if not _NAME.fullmatch(spec.name):
            can = f"letters, digits, `_` and `-`, at most {WIRE_LENGTH} of them"
            raise WrongUse(f"a tool cannot be called {spec.name!r}: {can}")
        if spec.name in taken:
            raise WrongUse(f"{taken[spec.name]} has a tool {spec.name!r} already; give yours another name")
        taken[spec.name] = "the caller"


def reachable(graph: Graph, root: Agent) -> Iterator[Agent]:
    """The agent and all that may run because of it."""
    seen, queue = {root.file}, [root.file]
    while queue:
        agent = graph.agents[queue.pop(0)]
        yield agent
        for _, file in agent.edges:
            if file not in seen:
                seen.add(file)
                queue.append(file)


def against_contract(graph: Graph, root: Agent) -> Iterator[Problem]:
    """In a strict run nothing passes between agents but a plan under contract, so that these cannot be run."""
    for agent in reachable(graph, root) if is_strict(graph, root) else ():
        declared = {
            "team": agent.team,
            "advisors": agent.advisors,
            "router": agent.destinations,
            "handoff": agent.handoff,
        }
        for key, value in declared.items():
            if value:
                message = (
                    f"`{key}` passes free text on, and `contract: strict` forbids that; take one of them out"
                )
                yield Problem(file=agent.file, message=message, code="against_contract")


def _without_key(graph: Graph, root: Agent, missing_key: Callable[[str], str]) -> Iterator[Problem]:
    """An agent is lost only if none of its models can be asked."""
    for agent in reachable(graph, root):
        missing = [missing_key(choice.provider) for choice in agent.models]
        if missing and all(missing):
            variables = " or ".join(dict.fromkeys(missing))
            message = f"none of its models can be asked: set the environment variable {variables}"
            yield Problem(file=agent.file, message=message, code="model_key_missing")
