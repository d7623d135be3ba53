"""The front desk: builds a Folkmoot from a folder. The only room that knows every other."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Entry
from folkmoot.engine.activation import Project
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.local import Identity, LocalEngine, drawn, encoded
from folkmoot.errors import DeclarationError, Problem, Untrusted, WrongUse
from folkmoot.orchestration.invocation import HearSpan
from folkmoot.orchestration.kit import Kits
from folkmoot.ports import Clock, Journal, Model, Models, Query, Tools
from folkmoot.session.schema import violation
from folkmoot.tools.functions import FunctionTool, tool
from folkmoot.tools.registry import Registry, load_module
from folkmoot.views.result import Result
from folkmoot.views.runs import RunRow, run_rows

if TYPE_CHECKING:
    from folkmoot.loader.load import Loaded


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What lies around a project; tests and embedders replace parts of it."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Clock = field(default_factory=SystemClock)
    journal: Journal | None = None
    """Absent: the SQLite journal in the project's `.folkmoot` folder."""
    identify: Callable[[Clock], Identity] = drawn
    """Gives each run its name and the seed of its randomness."""


def load_project(
    folder: Path | str,
    *,
    tools: Iterable[FunctionTool | Callable[..., object]] = (),
    overrides: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    only: str | None = None,
) -> Loaded:
    """Read and check a project; nothing is opened or run. Raises `DeclarationError` with all problems.

    `only` is an agent file: then it and what it refers to are read, not the whole folder.
    """
    from folkmoot.loader.load import load
    from folkmoot.models.known import known_models

    return load(
        Path(folder),
        known=known_models(),
        tools=Registry(_as_tools(tools)).names,
        env=os.environ if env is None else env,
        flags=overrides or {},
        entry=only,
    )


class Folkmoot:
    """A project that is open: loaded once, with its journal, ready to run agents."""

    def __init__(self, folder: Path, loaded: Loaded, project: Project, journal: Journal, engine: LocalEngine):
        self.folder = folder
        self.graph = loaded.graph
        self.warnings = loaded.warnings
        self._project = project
        self._journal = journal
        self._engine = engine

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        folder: Path | str = ".",
        *,
        tools: Iterable[FunctionTool | Callable[..., object]] = (),
        models: Mapping[str, Model] | None = None,
        overrides: Mapping[str, str] | None = None,
        around: Surroundings | None = None,
        only: str | None = None,
    ) -> AsyncIterator[Folkmoot]:
        """Open a project folder.

        `tools` are Python functions that agent files may name; `models` are model objects by provider name;
        `overrides` are options above those of the files, such as `{"maxTurns": "3"}`. With `only`, an agent
        file, it and what it refers to are read, not the whole folder.
        """
        from folkmoot.models.choose import ProviderModels

        around, folder = around or Surroundings(), Path(folder)
        functions = _as_tools(tools)
        loaded = load_project(folder, tools=functions, overrides=overrides, env=around.env, only=only)
        registry = _registry(folder, loaded.graph, functions, around.env)
        journal = around.journal or open_journal(folder)
        adapters = ProviderModels(
            loaded.graph.settings.providers,
            around.env,
            folder,
            extra=models or {},
            sleep=around.clock.sleep,
        )
        engine = LocalEngine(journal, around.clock, around.identify)
        try:
            project = _project(loaded.graph, journal.keep(encoded(loaded.graph)), adapters, registry)
            yield cls(folder, loaded, project, journal, engine)
        finally:
            await engine.close()
            await adapters.aclose()
            if around.journal is None:
                await journal.close()

    async def run(self, agent: str, request: str, *, hear: HearSpan | None = None) -> Result:
        """Run an agent to its end. A run that fails is a result too; cancelling this call cancels the run."""
        chosen = self.agent(agent)
        refuse_unsupported(self.graph, chosen)
        _check_input(chosen, request)
        return await self._engine.start(self._project, chosen.file, request, hear)

    async def resume(self, run_id: str, *, hear: HearSpan | None = None) -> Result:
        """Continue an interrupted run from its journal, with the files it was started with."""

        def pinned(graph: bytes, graph_id: str) -> Project:
            decoded = msgspec.json.decode(graph, type=Graph)
            return _project(decoded, graph_id, self._project.models, self._project.tools)

        return await self._engine.resume(run_id, pinned, hear)

    async def cancel(self, run_id: str, reason: str = "cancelled by its user") -> None:
        """Stop a run, wherever it runs. Returns when the stop is acknowledged."""
        await self._engine.cancel(run_id, reason)

    async def result(self, run_id: str) -> Result:
        """The result of a run so far, whoever runs it."""
        rows = {row.run_id: row for row in await self.runs()}
        past = await self._engine.past(run_id)
        return Result(run_id, past, live=run_id in rows and rows[run_id].status == "running")

    async def runs(self) -> list[RunRow]:
        """All runs of this project, newest first."""
        return await run_list(self._journal)

    def events(self, run_id: str = "", *, follow: bool = False, after: int = 0) -> AsyncIterator[Entry]:
        """The journal, of one run or of all, as it stands; with `follow`, what comes after too."""
        if follow:
            return self._journal.follow(after)
        return self._journal.read(Query(stream=run_id, after=after))

    async def position(self) -> int:
        """Where the journal ends now: follow from here to see only what is to come."""
        newest = [entry.seq async for entry in self._journal.read(Query(newest_first=True, limit=1))]
        return newest[0] if newest else 0

    def agent(self, name: str) -> Agent:
        """An agent by its file or its id."""
        return find_agent(self.graph, name)


def find_agent(graph: Graph, name: str) -> Agent:
    """By its file or its id."""
    plain = name.removeprefix("./")
    for agent in graph.agents.values():
        if plain in (agent.file, agent.id):
            return agent
    import difflib

    near = difflib.get_close_matches(plain, graph.agents, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(graph.agents)) or 'none'}"
    raise WrongUse(f"this project has no agent {name!r}; {hint}")


def open_journal(folder: Path, *, readonly: bool = False) -> Journal:
    """The journal of a project folder alone, whatever state the project's files are in."""
    import time

    from folkmoot.journal.sqlite import SqliteJournal

    return SqliteJournal.open(folder, time.time, readonly=readonly)


async def run_list(journal: Journal) -> list[RunRow]:
    from folkmoot.engine.owner import is_gone

    live = {claim.run for claim in await journal.claims() if claim.live and not is_gone(claim.owner)}
    types = ("run.started", "run.completed", "run.failed", "run.cancelled", "run.parked")
    entries = [entry async for entry in journal.read(Query(types=types))]
    return run_rows(entries, live)


def _project(graph: Graph, graph_id: str, models: Models, tools: Tools) -> Project:
    return Project(graph=graph, graph_id=graph_id, kits=Kits(graph, tools), models=models, tools=tools)


def _as_tools(given: Iterable[FunctionTool | Callable[..., object]]) -> list[FunctionTool]:
    return [one if isinstance(one, FunctionTool) else tool(one) for one in given]


def _registry(folder: Path, graph: Graph, given: list[FunctionTool], env: Mapping[str, str]) -> Registry:
    from folkmoot.tools.trust import TrustStore, wishes

    wanted = wishes(folder, graph.settings)
    if missing := TrustStore(env).missing(folder, wanted):
        listed = "".join(f"\n  - {wish.text}" for wish in missing)
        raise Untrusted(f"this project wants to:{listed}\nallow it with: folkmoot trust {folder}")
    registry = Registry(given)
    for name, source in graph.settings.tools.items():
        if source.module:
            registry.add_source(name, load_module(folder / source.module, source.module))
    unknown = [
        Problem(
            file=agent.file, message=f"tool {name!r} does not exist; known are {', '.join(registry.names)}"
        )
        for agent in graph.agents.values()
        for name in agent.tools
        if not registry.specs([name])
    ]
    if unknown:
        raise DeclarationError(unknown)
    return registry


def refuse_unsupported(graph: Graph, root: Agent) -> None:
    """Raises `DeclarationError` if the agent needs what is checked but not run yet."""
    seen, queue = set(), [root.file]
    while queue:
        agent = graph.agents[queue.pop()]
        if agent.file in seen:
            continue
        seen.add(agent.file)
        for key, used in (("team", agent.team is not None), ("split", agent.split != "never")):
            if used:
                message = f"`{key}` is checked but not run by this release; take it out to run this agent"
                raise DeclarationError([Problem(file=agent.file, message=message)])
        handoff = (agent.handoff,) if agent.handoff else ()
        queue += [*agent.advisors, *agent.destinations, *agent.agents, *handoff]


def _check_input(agent: Agent, request: str) -> None:
    if not request.strip():
        raise WrongUse(f"there is nothing to ask {agent.file}; give it a text")
    if agent.input.format != "json":
        return
    try:
        value = json.loads(request)
    except ValueError as error:
        raise WrongUse(f"{agent.file} takes JSON, and the request is none: {error}") from None
    if agent.input.schema and (wrong := violation(value, agent.input.schema)):
        raise WrongUse(f"the request does not fit the input schema of {agent.file}: {wrong}")
