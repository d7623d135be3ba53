"""Builds what a project needs to run, from what surrounds it: its tools, its models, its journal, its engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from folkmoot.coordination.moot import Moot
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.naming import BUILT_IN, COORDINATION, MESSAGES, QUESTIONS
from folkmoot.domain.secrets import secrets_of
from folkmoot.engine.activation import RunnableProject, TeamSubscriber
from folkmoot.engine.admission import find_reachable_agents
from folkmoot.engine.claims import (
    RunIdentity,
    WorkerIdentity,
    WorkerOptions,
    draw_identity,
    is_owner_gone,
    this_host,
    this_process,
)
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.local import LocalEngine
from folkmoot.engine.runs import Installation
from folkmoot.errors import DeclarationError, OperationFailed, Problem, WrongUse
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.ports import Clock, Journal, Model, Tools
from folkmoot.tools.consent import ConsentStore, mark_of, require_consent
from folkmoot.tools.modules import load_modules
from folkmoot.tools.registry import FunctionTool, Registry, meant, tool
from folkmoot.tools.wanted import storage_item, wanted_items

if TYPE_CHECKING:
    from folkmoot.engine.sinking import SinkFeeder
    from folkmoot.engine.workers import Worker
    from folkmoot.journal.index import Index
    from folkmoot.loader.load import Loaded
    from folkmoot.models.choose import ProviderModels
    from folkmoot.tools.mcp.servers import Servers


_OF_RUNS = (*QUESTIONS, *MESSAGES, "messages")
"""Tools of the runtime that belong to a run, and to no registry."""
NOT_SHARED = (
    "workers need a journal that they share: set `storage.url` and `storage.project` in folkmoot.yaml,"
    " or FOLKMOOT_STORAGE_URL and FOLKMOOT_STORAGE_PROJECT"
)


class ToolGuard:
    """Stands between agents and the tools of a project; this one lets everything through."""

    def before(self, tools: Tools) -> Tools:
        """What agents use instead."""
        return tools

    def needs(self, tool: str) -> bool:
        """Whether this tool may really be called, so that its server must be started."""
        return True


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What lies around a project; tests and embedders replace parts of it."""

    env: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    clock: Clock = msgspec.field(default_factory=SystemClock)
    journal: Journal | None = None
    """Absent: where the project's settings say, otherwise SQLite in its `.folkmoot` folder."""
    identify: Callable[[Clock], RunIdentity] = draw_identity
    """Gives each run its name and the seed of its randomness."""
    guard: ToolGuard = msgspec.field(default_factory=ToolGuard)
    subscribers: Sequence[TeamSubscriber] = ()
    """Told what is said in teams, and who leaves one, as it happens."""
    place: WorkerIdentity = msgspec.field(default_factory=lambda: WorkerIdentity(label=this_host()))
    """Of working folders, where runs are shared with other hosts."""


class RecordsFactory(NamedTuple):
    """How the records of a project are opened, and which tools agents have to change them."""

    open: Callable[[Journal, Clock, Graph], Moot]
    tools: Callable[[Callable[[], Any]], Mapping[str, FunctionTool]]


class ProjectWiring:
    """Builds what a graph needs to run, from what this opening was given, and closes it at the end."""

    def __init__(
        self,
        folder: Path,
        tools: list[FunctionTool],
        models: Mapping[str, Model],
        around: Surroundings,
        records: RecordsFactory,
    ) -> None:
        self._records = records
        self.folder = folder
        self.tools = tools
        self._models = models
        self._around = around
        self.clock = around.clock
        self._journal: Journal | None = None
        self._adapters: list[ProviderModels] = []
        self._engine: LocalEngine | None = None
        self._started: Servers | None = None
        self._moot: Moot | None = None
        self._index: Index | None = None
        self._checked: tuple[Graph, Registry] | None = None
        """The tools of a graph, so that its Python modules are run once."""

    def project(self, graph: Graph, graph_id: str) -> RunnableProject:
        registry = self._registry(graph)
        tools = self._around.guard.before(registry)
        adapters = self._speak_to(graph)
        declared = msgspec.json.encode(registry.declared(), order="deterministic")
        return RunnableProject(
            graph=graph,
            graph_id=graph_id,
            tools_id=self._journal.keep(declared) if self._journal else "",
            declared=declared,
            kits=ToolsetFactory(graph, tools),
            models=adapters,
            tools=tools,
            secrets=secrets_of(graph.settings, self._around.env),
        )

    def describe(self, graph: Graph) -> tuple[ToolsetFactory, list[str]]:
        """What agents have, for people to look at, without the tools that nobody allowed: those are named."""
        store = ConsentStore()
        wanted = [item for item in wanted_items(self.folder, graph) if item.kind in ("module", "server")]
        refused = {item.name.partition(".")[2] for item in store.missing(self.folder, wanted)}
        refused |= {
            name
            for name, source in graph.settings.tools.items()
            if source.kind == "mcp" and store.listings.of(self.folder, mark_of(source)) is None
        }
        sources = {name: each for name, each in graph.settings.tools.items() if name not in refused}
        allowed = replace(graph, settings=replace(graph.settings, tools=sources))
        return ToolsetFactory(graph, self._filled(allowed)), sorted(refused)

    def check(self, graph: Graph) -> None:
        """Raises before anything is opened: for tools and for scripts that are wrong."""
        self._registry(graph)
        if problems := list(self._speak_to(graph).problems()):
            raise DeclarationError(problems)

    async def ready(self, graph: Graph, root: Agent) -> None:
        """Start the tool servers that this agent, or one that it needs, may use; raises before anything is run."""
        if all(source.kind != "mcp" for source in graph.settings.tools.values()):
            return
        known = self._registry(graph).names
        named = {name for agent in find_reachable_agents(graph, root) for name in agent.tools}
        tools = [each for name in named for each in meant(name, known)]
        await self._servers.ready([*filter(self._around.guard.needs, tools)])

    @property
    def _servers(self) -> Servers:
        """Made when the first is needed: most projects have none."""
        from folkmoot.tools.mcp.servers import Servers

        if self._started is None:
            listings = ConsentStore().listings
            self._started = Servers(self.folder, self._around.env, listings, this_process(), is_owner_gone)
        return self._started

    def missing_key(self, provider: str) -> str:
        return self._adapters[-1].missing_key(provider)

    def open_journal(self, stack: AsyncExitStack) -> Journal:
        """At the end everything else is closed first: a run that is stopped still writes."""
        journal = self._around.journal or open_journal(self.folder, env=self._around.env)
        self._journal = journal
        if self._around.journal is None:
            stack.push_async_callback(journal.close)
        stack.push_async_callback(self._close)
        return journal

    def moot(self, graph: Graph) -> Moot:
        """What outlives the runs of this project. Its journal is open by now."""
        assert self._journal is not None
        if self._moot is None or self._moot.graph is not graph:
            self._moot = self._records.open(self._journal, self.clock, graph)
        return self._moot

    async def write_files(self) -> tuple[()]:
        """Bring the files that follow from the records up to date, if anybody has looked at a record here."""
        if self._moot is None or self._around.journal is not None:
            return ()
        from folkmoot.engine.outlets import write_record_files
        from folkmoot.journal.database import FOLDER

        await write_record_files(self._moot, self.folder / FOLDER)
        return ()

    def index(self) -> Index:
        """Of this project's journal; made when somebody looks for something."""
        from folkmoot.journal.index import Index

        self._index = self._index or Index.open(self.folder if self._around.journal is None else None)
        return self._index

    def engine(self, journal: Journal) -> LocalEngine:
        around = self._around
        own = Installation(journal) if around.journal is None else None
        self._engine = LocalEngine(
            journal, around.clock, around.identify, around.subscribers, around.place, own
        )
        return self._engine

    def worker(
        self, engine: LocalEngine, pinned: Callable[[bytes, str], RunnableProject], shift: WorkerOptions
    ) -> Worker:
        """Raises `WrongUse` where the journal is not shared."""
        from folkmoot.loader.project_file import storage_of

        storage = storage_of(self.folder, self._around.env)
        if storage.url is None:
            raise WrongUse(NOT_SHARED)
        with _check_extra_installed():
            from folkmoot.engine.procrastinate import JobQueue
            from folkmoot.engine.workers import Worker
            from folkmoot.journal.postgres.journal import PostgresJournal
        assert isinstance(self._journal, PostgresJournal)
        queue = JobQueue(storage, shift.place.label, self._journal.watch)
        return Worker(engine, pinned, self._journal, queue, self._around.clock, shift)

    def sinking(self, graph: Graph) -> SinkFeeder:
        """Raises `WrongUse` for a sink whose variable is not set."""
        from folkmoot.engine.outlets import build_sinks
        from folkmoot.engine.sinking import SinkFeeder

        assert self._journal is not None
        sinks = build_sinks(self.folder, self._around.env, self.moot(graph))
        return SinkFeeder(self._journal, self.clock, sinks)

    async def _close(self) -> None:
        if self._engine:
            await self._engine.close()
        for adapters in self._adapters:
            await adapters.aclose()
        if self._started:
            await self._started.close()
        if self._index:
            self._index.close()

    def _registry(self, graph: Graph) -> Registry:
        if self._checked is None or self._checked[0] is not graph:
            require_consent(self.folder, wanted_items(self.folder, graph))
            registry = self._filled(graph)
            known = ", ".join(registry.names)
            if unknown := [
                Problem(file=agent.file, message=f"tool {name!r} does not exist; known are {known}")
                for agent in graph.agents.values()
                for name in agent.tools
                if name not in _OF_RUNS and not registry.specs([name])
            ]:
                raise DeclarationError(unknown)
            self._checked = (graph, registry)
        return self._checked[1]

    def _filled(self, graph: Graph) -> Registry:
        """Tools come from everywhere. Of those that a release brings, only what an agent names: runs are pinned."""
        sources = graph.settings.tools
        registry = Registry(self.tools, self.folder)
        functions = load_modules(self.folder, sources, registry)
        for name, source in sources.items():
            if source.module:
                registry.add_source(name, source, functions[name])
            elif source.kind == "mcp":
                registry.add_source(name, source, self._servers.tools(name, source))
        tools: dict[str, FunctionTool] = {}
        if built_in := _find_named_tools(graph, BUILT_IN):
            from folkmoot.tools.builtin.toolset import builtin_tools

            tools |= builtin_tools(graph.settings.builtins, self._around.env)
        if coordinating := _find_named_tools(graph, COORDINATION) - set(MESSAGES):
            tools |= self._records.tools(partial(self.moot, graph))
        for name, each in tools.items():
            if name in built_in | coordinating:
                registry.add(name, each)
        return registry

    def _speak_to(self, graph: Graph) -> ProviderModels:
        from folkmoot.models.choose import ProviderModels

        providers, sleep = graph.settings.providers, self.clock.sleep
        speaking = ProviderModels(providers, self._around.env, self.folder, extra=self._models, sleep=sleep)
        self._adapters.append(speaking)
        return speaking


def open_journal(folder: Path, *, readonly: bool = False, env: Mapping[str, str] = os.environ) -> Journal:
    """The journal of a project folder alone, whatever state the project's files are in."""
    from folkmoot.loader.project_file import storage_of

    storage = storage_of(folder, env)
    if storage.url is None:
        import time

        from folkmoot.journal.sqlite import SqliteJournal

        return SqliteJournal.open(folder, time.monotonic, readonly=readonly)
    if item := storage_item(storage, env):
        require_consent(folder, [item])
    with _check_extra_installed():
        from folkmoot.journal.postgres.journal import PostgresJournal
    return PostgresJournal(storage, readonly=readonly)


@contextmanager
def _check_extra_installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise OperationFailed(
            f"`storage.url` needs a package that is not installed ({error});"
            " install it with: pip install 'folkmoot[postgres]'",
            code="package_missing",
        ) from error


def as_tools(given: Iterable[FunctionTool | Callable[..., object]]) -> list[FunctionTool]:
    """Raises `TypeError` for a function that cannot be a tool."""
    tools = [one if isinstance(one, FunctionTool) else tool(one) for one in given]
    for each in tools:
        each.prepare()
    return tools


def _find_named_tools(graph: Graph, known: Collection[str]) -> set[str]:
    return {each for agent in graph.agents.values() for name in agent.tools for each in meant(name, known)}


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
    from folkmoot.loader.load import load  # resuming a run needs no loader
    from folkmoot.models.choose import known_models

    return load(
        Path(folder),
        known=known_models(),
        tools=Registry(as_tools(tools)).names,
        env=os.environ if env is None else env,
        flags=overrides or {},
        entry=only,
    )
