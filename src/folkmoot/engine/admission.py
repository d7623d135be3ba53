"""Which agents can be run, as programs read them; and what is checked before a run begins: the request, its tools and
its attachments. Nothing is recorded or asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.errand import Errand
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import COORDINATION, QUESTIONS, WIRE_LENGTH
from folkmoot.domain.part import LARGEST, LARGEST_TOGETHER, MOST, File, objection, recorded
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.domain.text import storable
from folkmoot.errors import DeclarationError, Problem, WrongUse
from folkmoot.orchestration.kit import ToolsetFactory, is_strict, list_client_facing
from folkmoot.orchestration.runtime_tools import ARTIFACT_READ, ASKING_AGENTS, PLAN_UPDATE
from folkmoot.session.schema import unfit_input

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{WIRE_LENGTH}}}")
_EXITS = (FINAL_REPORT, ROUTE, BROADCAST)
_RUNTIME = (*_EXITS, *ASKING_AGENTS, *COORDINATION, *QUESTIONS, PLAN_UPDATE.name, ARTIFACT_READ)


def check_runnable(graph: Graph, root: Agent, missing_key: Callable[[str], str]) -> None:
    """Raises `DeclarationError` for whatever keeps this agent, or one that it needs, from running.

    `missing_key` names the environment variable that a provider needs and that is not set.
    """
    if problems := [*find_contract_problems(graph, root), *_find_missing_keys(graph, root, missing_key)]:
        raise DeclarationError(problems)


def check_request(agent: Agent, request: str) -> None:
    """Raises `WrongUse` for a request that the agent does not take."""
    if not request.strip():
        raise WrongUse(f"there is nothing to ask {agent.file}; give it a text")
    if wrong := unfit_input(agent, request):
        raise WrongUse(wrong)


def names_in_use(graph: Graph, kits: ToolsetFactory, root: Agent) -> dict[str, str]:
    """Names that a tool of the caller cannot have, with who has them."""
    taken = dict.fromkeys(_RUNTIME, "the runtime")
    for agent in list_client_facing(graph, root):
        taken |= dict.fromkeys((spec.name for spec in kits.of(agent).tools), agent.file)
    return taken


def check_tools(graph: Graph, kits: ToolsetFactory, root: Agent, tools: Sequence[ToolSpec]) -> None:
    """Raises `WrongUse` for a tool of the caller that a model could not call, or not tell from another."""
    taken = names_in_use(graph, kits, root) if tools else {}
    for spec in tools:
        if not _NAME.fullmatch(spec.name):
            can = f"letters, digits, `_` and `-`, at most {WIRE_LENGTH} of them"
            raise WrongUse(f"a tool cannot be called {spec.name!r}: {can}")
        if spec.name in taken:
            raise WrongUse(f"{taken[spec.name]} has a tool {spec.name!r} already; give yours another name")
        taken[spec.name] = "the caller"


def find_reachable_agents(graph: Graph, root: Agent) -> Iterator[Agent]:
    """The agent and all that may run because of it."""
    seen, queue = {root.file}, [root.file]
    while queue:
        agent = graph.agents[queue.pop(0)]
        yield agent
        for _, file in agent.edges:
            if file not in seen:
                seen.add(file)
                queue.append(file)


def find_contract_problems(graph: Graph, root: Agent) -> Iterator[Problem]:
    """In a strict run nothing passes between agents but a plan under contract, so that these cannot be run."""
    for agent in find_reachable_agents(graph, root) if is_strict(graph, root) else ():
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


def _find_missing_keys(graph: Graph, root: Agent, missing_key: Callable[[str], str]) -> Iterator[Problem]:
    """An agent is lost only if none of its models can be asked."""
    for agent in find_reachable_agents(graph, root):
        missing = [missing_key(choice.provider) for choice in agent.models]
        if missing and all(missing):
            variables = " or ".join(dict.fromkeys(missing))
            message = f"none of its models can be asked: set the environment variable {variables}"
            yield Problem(file=agent.file, message=message, code="model_key_missing")


def to_full_dict(value: Struct) -> Any:
    """Everything that holds, for programs, which know no defaults."""
    return {
        field.encode_name: msgspec.to_builtins(getattr(value, field.name))
        for field in msgspec.structs.fields(value)
    }


def find_agent_status(graph: Graph, agent: Agent) -> str:
    """`ready`, or `refused` if a contract keeps it from running."""
    return "refused" if any(find_contract_problems(graph, agent)) else "ready"


def build_agent_summary(graph: Graph, agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "type": agent.role,
        "capabilities": list(agent.capabilities),
        "tools": list(agent.tools),
        "status": find_agent_status(graph, agent),
        "file": agent.file,
        "description": agent.description,
        "terminal": graph.terminal(agent.file),
    }


def build_agent_document(
    graph: Graph, agent: Agent, plain: Callable[[Struct], Any] = to_full_dict
) -> dict[str, Any]:
    from folkmoot.loader.bounds import worst_case  # noqa: PLC0415  # running an agent needs no loader

    return {
        **build_agent_summary(graph, agent),
        "usage": agent.usage,
        "remote": agent.remote and plain(agent.remote),
        "advisors": list(agent.advisors),
        "destinations": list(agent.destinations),
        "handoff": agent.handoff,
        "agents": list(agent.agents),
        "team": agent.team and plain(agent.team),
        "chat": agent.chat,
        "referredToBy": sorted(
            other.file for other in graph.agents.values() if agent.file in (to for _, to in other.edges)
        ),
        "models": [choice.ref for choice in agent.models],
        "input": plain(agent.input),
        "output": plain(agent.output),
        "options": plain(agent.tuning),
        "budget": plain(agent.budget),
        "worstCaseModelRequests": worst_case(graph, agent.file),
    }


AttachmentInput = File | Path | str
"""A file, or where it lies."""


def read_files(given: Iterable[AttachmentInput]) -> list[File]:
    """Raises `WrongUse` with everything that speaks against them."""
    files = [each if isinstance(each, File) else _read_file(Path(each)) for each in given]
    if objections := [text for file in files if (text := objection(file))]:
        raise WrongUse("\n".join(objections))
    together = sum(len(file.content) for file in files)
    if len(files) > MOST or together > LARGEST_TOGETHER:
        raise WrongUse(
            f"{len(files)} files with {together:,} bytes are attached; {MOST} with {LARGEST_TOGETHER:,} may be"
        )
    return files


def limit_attachments(files: Sequence[File]) -> list[File]:
    """The first of them that may go along together."""
    sizes = accumulate(len(file.content) for file in files)
    return [file for file, size in zip(files[:MOST], sizes, strict=False) if size <= LARGEST_TOGETHER]


def attach_files(errand: Errand, given: Sequence[AttachmentInput], keep: Callable[[bytes], str]) -> Errand:
    """The errand with these files, of which `keep` has the content from here on."""
    parts = (recorded(file, keep(file.content)) for file in read_files(given))
    return replace(errand, attachments=(*errand.attachments, *parts))


def _read_file(path: Path) -> File:
    try:
        with path.open("rb") as file:
            content = file.read(max(LARGEST.values()) + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise WrongUse(f"{str(path)!r} cannot be attached: {why}") from None
    return File(storable(path.name), content)
