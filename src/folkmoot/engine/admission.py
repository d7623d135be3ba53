"""What is refused before a run begins: nothing is recorded and nothing is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.errors import DeclarationError, Problem, WrongUse
from folkmoot.orchestration.reach import is_strict
from folkmoot.session.schema import violation


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
    if agent.input.format != "json":
        return
    try:
        value = msgspec.json.decode(request)
    except msgspec.DecodeError as error:
        raise WrongUse(f"{agent.file} takes JSON, and the request is none: {error}") from None
    if agent.input.schema and (wrong := violation(value, agent.input.schema)):
        raise WrongUse(f"the request does not fit the input schema of {agent.file}: {wrong}")


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
                yield Problem(file=agent.file, message=message)


def _without_key(graph: Graph, root: Agent, missing_key: Callable[[str], str]) -> Iterator[Problem]:
    """An agent is lost only if none of its models can be asked."""
    for agent in reachable(graph, root):
        missing = [missing_key(choice.provider) for choice in agent.models]
        if missing and all(missing):
            variables = " or ".join(dict.fromkeys(missing))
            message = f"none of its models can be asked: set the environment variable {variables}"
            yield Problem(file=agent.file, message=message)


def find_agent(graph: Graph, name: str) -> Agent:
    """By its file or its id."""
    plain = name.removeprefix("./")
    for agent in graph.agents.values():
        if plain in (agent.file, agent.id):
            return agent
    import difflib  # noqa: PLC0415  # only for who mistyped

    near = difflib.get_close_matches(plain, graph.agents, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(graph.agents)) or 'none'}"
    raise WrongUse(f"this project has no agent {name!r}; {hint}")
