"""`Folkmoot`: opens the project in a folder and runs its agents. The only module that knows all packages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from folkmoot.domain.agent import Agent, Graph, find_agent
from folkmoot.domain.entry import Entry
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.domain.inbox import Item, Reply
from folkmoot.domain.inbox_events import GateChanged
from folkmoot.domain.message import Message
from folkmoot.domain.naming import wire_name
from folkmoot.domain.run_row import RunRow
from folkmoot.engine import admission, history
from folkmoot.engine.activation import RunClient, RunnableProject, RunRequest
from folkmoot.engine.claims import WorkerOptions
from folkmoot.engine.commands import CancelRun, CloseSession, find_item, read_inbox
from folkmoot.engine.history import Fork
from folkmoot.engine.local import encode_graph
from folkmoot.engine.runs import find_run_row, list_runs
from folkmoot.engine.workshop import NOT_SHARED, ProjectWiring, Surroundings, as_tools, load_project
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.operations.project import OpenProject
from folkmoot.operations.records import RECORDS
from folkmoot.orchestration.inbox import InboxOptions, ItemHandler
from folkmoot.orchestration.invocation import SpanTokenListener, TokenListeners
from folkmoot.ports import Filter, ItemQuery, Journal, Model, Query, RunQuery
from folkmoot.tools.registry import FunctionTool
from folkmoot.views.result import Result
from folkmoot.views.sessions import Gated, LiveChild, gates, live_children

if TYPE_CHECKING:
    from folkmoot.engine.collaboration import WorkSessionControl
    from folkmoot.engine.outlets import EventBus
    from folkmoot.engine.replay import ReplayResult
    from folkmoot.engine.sinking import SinkFeeder
    from folkmoot.engine.watch import TaskWatcher
    from folkmoot.engine.workers import Worker
    from folkmoot.loader.load import Loaded
    from folkmoot.views.difference import Difference

PINS_STAY = 3_600.0
"""Seconds; far less than the day for which kept content is safe from every sweep."""


class Folkmoot:
    """A project that is open: loaded once, with its journal, ready to run agents."""

    def __init__(self, loaded: Loaded, journal: Journal, workshop: ProjectWiring) -> None:
        self.folder = workshop.folder
        self.graph = loaded.graph
        self.warnings = loaded.warnings
        self.settings = loaded.settings
        self._journal = journal
        self._engine = workshop.engine(journal)
        self._engine.after = self._settle_step
        self._workshop = workshop
        self._admitted: set[str] = set()
        self._encoded = encode_graph(loaded.graph)
        self._pins_kept = workshop.clock.monotonic()
        self._project = workshop.project(loaded.graph, journal.keep(self._encoded))
        self._pinned_projects = {self._project.graph_id: self._project}
        self.secrets = self._project.secrets
        self.tools, self.kits = workshop.tools, self._project.kits

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
        around = around or Surroundings()
        async with AsyncExitStack() as stack:
            workshop = ProjectWiring(Path(folder), as_tools(tools), models or {}, around, RECORDS)
            loaded = load_project(
                folder, tools=workshop.tools, overrides=overrides, env=around.env, only=only
            )
            workshop.check(loaded.graph)
            opened = cls(loaded, workshop.open_journal(stack), workshop)
            stack.push_async_callback(workshop.write_files)
            yield opened

    @classmethod
    @asynccontextmanager
    async def reopen(
        cls,
        folder: Path | str,
        run_id: str,
        *,
        tools: Iterable[FunctionTool | Callable[..., object]] = (),
        models: Mapping[str, Model] | None = None,
        around: Surroundings | None = None,
    ) -> AsyncIterator[Folkmoot]:
        """Open a project as a run was started with it, whatever its files say by now: to resume the run."""
        from folkmoot.loader.load import Loaded

        async with AsyncExitStack() as stack:
            around = around or Surroundings()
            workshop = ProjectWiring(Path(folder), as_tools(tools), models or {}, around, RECORDS)
            journal = workshop.open_journal(stack)
            pinned = Loaded(graph=await history.read_pinned_graph(journal, run_id), warnings=(), settings=())
            yield cls(pinned, journal, workshop)

    async def run(  # noqa: PLR0913  # because whoever asks says it all here
        self,
        agent: str,
        request: str,
        *,
        hear: SpanTokenListener | TokenListeners | None = None,
        answer: ItemHandler | None = None,
        wait: bool = False,
        errand: Errand = Errand(),
        attachments: Sequence[admission.AttachmentInput] = (),
    ) -> Result:
        """Run an agent to its end. A run that fails is a result too; cancelling this call cancels the run.

        `answer` is asked what agents want to know or need approved. Without it the run parks when all that is
        left of it waits for someone; with `wait` it waits for what others say to its inbox.
        `errand` says what the run belongs to: a work session, a task, a step of a plan. `attachments` are images
        and documents that go with the request: paths, or `File`s.
        """
        chosen = self._admit(agent, request)
        errand = self.enclose(errand, attachments)
        await self._workshop.ready(self.graph, chosen)
        audience = _audience(hear, answer, wait=wait)
        return await self._engine.start(self._project, await self._asked(chosen, request, errand), audience)

    async def _settle_step(self, result: Result) -> None:
        """What is not settled now, because the journal is away or the process dies, the watch finds later."""
        if result.success and result.errand.completes_step:
            from folkmoot.engine.collaboration import complete_step_of_run

            with suppress(FolkmootError):
                await complete_step_of_run(self.moot, result.run_id)

    def _admit(self, name: str, request: str) -> Agent:
        """Refuse what cannot run; see that what a run is pinned to is kept."""
        chosen = self.agent(name)
        if chosen.file not in self._admitted:
            admission.check_runnable(self.graph, chosen, self._workshop.missing_key)
            self._admitted.add(chosen.file)
        admission.check_request(chosen, request)
        self._keep_pins()
        return chosen

    def _keep_pins(self) -> None:
        """Now and then, because they may be swept with the last run that names them; what is young is not."""
        now = self._workshop.clock.monotonic()
        if now - self._pins_kept < PINS_STAY:
            return
        self._pins_kept = now
        for pinned in (self._encoded, self._project.declared):
            self._journal.keep(pinned)

    async def resume(
        self,
        run_id: str,
        *,
        hear: SpanTokenListener | TokenListeners | None = None,
        answer: ItemHandler | None = None,
        wait: bool = False,
        with_current_files: bool = False,
    ) -> Result:
        """Continue an interrupted or parked run from its journal, with the files it was started with, or
        `with_current_files` with those of this opening, from here on; that is recorded. Raises `WrongUse` if something
        that has begun does not fit them."""
        current, audience = self._project if with_current_files else None, _audience(hear, answer, wait=wait)
        return await self._engine.resume(run_id, self._pinned, audience, current)

    def enclose(self, errand: Errand, attachments: Sequence[admission.AttachmentInput]) -> Errand:
        """The errand with what is attached to its request, which is kept in the journal from here on."""
        return admission.attach_files(
            errand, attachments, lambda content: self._journal.keep(self.secrets.content(content))
        )

    async def submit(self, agent: str, request: str, errand: Errand = Errand()) -> str:
        """Leave a run to the workers of a shared installation. Its id, when it is sure that one will take it."""
        if not self._journal.shared:
            raise WrongUse(NOT_SHARED)
        chosen = self._admit(agent, request)
        return await self._engine.submit(self._project, await self._asked(chosen, request, errand))

    async def _asked(self, agent: Agent, request: str, errand: Errand) -> RunRequest:
        """For the work session that takes the run, which may refuse it."""
        admission.check_tools(self.graph, self.kits, agent, errand.tools)
        if errand.work_session:
            errand = await self.moot.work_sessions.join(errand, agent.id, self.secrets.text(request))
        return RunRequest(agent.file, request, errand)

    def worker(self, shift: WorkerOptions) -> Worker:
        """Go on with whatever runs the workers of this project are woken for: `await moot.worker(shift).work()`."""
        return self._workshop.worker(self._engine, self._pinned, shift)

    def hand_over(self, *, at_once: bool = False) -> None:
        """Leave all runs that are run here to whoever goes on with them, when what is under way has ended."""
        self._engine.hand_over(at_once=at_once)

    def sinking(self) -> SinkFeeder:
        """Send events on to the sinks of this project, beside whatever else is done: `async with moot.sinking():`."""
        return self._workshop.sinking(self.graph)

    def watch(self) -> TaskWatcher:
        """See that no task falls asleep: `await moot.watch().work()`. With workers, they run what agents are told."""
        from folkmoot.engine.collaboration import complete_finished_steps
        from folkmoot.engine.watch import TaskWatcher

        own = (
            self.moot.decisions.settle_overdue,
            partial(complete_finished_steps, self.moot),
            self._workshop.write_files,
        )
        return TaskWatcher(self.moot, self._admit, self.submit if self._journal.shared else self.run, own)

    async def replay(self, run_id: str) -> ReplayResult:
        """Let a run happen again from its journal, without any model, tool or network, and compare."""
        from folkmoot.engine.replay import replay_run

        return await replay_run(self._journal, run_id)

    async def diff(self, a: str, b: str) -> Difference:
        """The first thing that two runs did otherwise, and what is not the same in the end."""
        from folkmoot.views.difference import difference

        return difference(*[await history.read_whole_history(self._journal, run) for run in (a, b)])

    async def fork(
        self,
        run_id: str,
        fork: Fork,
        *,
        hear: SpanTokenListener | TokenListeners | None = None,
        answer: ItemHandler | None = None,
        wait: bool = False,
    ) -> Result:
        """Start a new run that begins as this one did, up to an entry, and goes on from there with real models. In a
        fork every call of a tool that is not `pure` waits for a person's word."""
        return await self.resume(await self.branch(run_id, fork), hear=hear, answer=answer, wait=wait)

    async def branch(self, run_id: str, fork: Fork) -> str:
        """The name of a fork that nobody has gone on with yet."""
        past = await history.read_whole_history(self._journal, run_id)
        graph = await history.build_forked_graph(self._journal, past, fork)
        root = find_agent(graph, past.started.agent)
        project = self._workshop.project(graph, self._journal.keep(encode_graph(graph)))
        self._pinned_projects[project.graph_id] = project
        admission.check_runnable(graph, root, self._workshop.missing_key)
        if fork.request:
            admission.check_request(root, fork.request)
        return await self._engine.fork(past, fork, project)

    def _pinned(self, graph: bytes, graph_id: str) -> RunnableProject:
        """Made once: a worker stays, and meets the same files again."""
        if graph_id not in self._pinned_projects:
            decoded = msgspec.json.decode(graph, type=Graph)
            self._pinned_projects[graph_id] = self._workshop.project(decoded, graph_id)
        return self._pinned_projects[graph_id]

    async def inbox(self, run_id: str = "", *, status: str = "") -> list[Item]:
        """What waits, or waited, for someone: questions, approvals, calls in doubt; of one run or of all. With the
        status `open`, what waits."""
        items = await read_inbox(self._journal, ItemQuery(run=run_id, status=status))
        return [item for item in items if status in ("", item.status)]

    async def reply(self, reply: Reply) -> None:
        """Say something to an item: `moot.reply(item.approve())`. Raises `WrongUse` if it is decided already."""
        await self._engine.reply(reply)

    async def cancel(self, run_id: str, reason: str = "cancelled by its user") -> None:
        """Stop a run, wherever it runs. Returns when the stop is acknowledged."""
        await self._engine.send(run_id, CancelRun(reason))

    async def live(self, run_id: str) -> list[LiveChild]:
        """The finished children of a run that are kept and can still be asked."""
        return live_children(await history.read_history(self._journal, run_id))

    async def destroy(self, session_id: str, reason: str = "destroyed by its user") -> None:
        """Let go of a kept child and of all it kept itself, wherever its run runs."""
        await self._engine.send(session_id, CloseSession(session_id, reason))

    async def gate(self, session_id: str, *tools: str, by: str = "user", reason: str = "") -> None:
        """Take tools, named as in files, from one session of a run, wherever that runs; other sessions keep them."""
        await self._engine.gate(GateChanged(session_id, tuple(map(wire_name, tools)), by=by, reason=reason))

    async def ungate(self, session_id: str, *tools: str, by: str = "user", reason: str = "") -> None:
        """Give them back."""
        back = tuple(map(wire_name, tools))
        await self._engine.gate(GateChanged(session_id, freed=back, by=by, reason=reason))

    async def gates(self, run_id: str) -> list[Gated]:
        """The sessions of a run that have tools taken from them."""
        return gates(await history.read_history(self._journal, run_id))

    async def result(self, run_id: str) -> Result:
        """The result of a run so far, whoever runs it."""
        row, past = await self.row(run_id), await history.read_history(self._journal, run_id)
        return Result(run_id, past, unended=row.status if row else "interrupted")

    async def followed(self, run_id: str, *, wait: bool = False) -> Result:
        """The result of a run that others run, as it ended or, without `wait`, when it waited for someone."""
        ends = RUN_ENDS if wait else (*RUN_ENDS, RunParked)
        seen = [entry async for entry in self.events(run_id)]
        if not seen:
            return await self.result(run_id)  # which refuses it
        coming = self.events(run_id, follow=True, after=seen[-1].seq)
        while not isinstance(seen[-1].event, ends):
            seen.append(await anext(coming))
        return Result(run_id, [entry.draft for entry in seen])

    async def prompt(self, run_id: str, at: int) -> tuple[Message, ...]:
        """The messages that a model was sent with the request at this entry, exactly."""
        from folkmoot.engine.replay import rebuild_prompt

        return await rebuild_prompt(self._journal, run_id, at)

    async def graph_of(self, run_id: str) -> Graph:
        """The project as that run was pinned to it last."""
        return await history.read_pinned_graph(self._journal, run_id)

    async def runs(self, query: RunQuery = RunQuery()) -> list[RunRow]:
        """The runs of this project, newest first; all of them, or those that a query names."""
        return await list_runs(self._journal, query)

    async def row(self, run_id: str) -> RunRow | None:
        """One line of that list; None if there is no such run."""
        return await find_run_row(self._journal, run_id)

    async def item(self, id: str) -> Item:
        """One thing that waits, or waited, for someone. Raises `WrongUse` if there is none of this id."""
        return await find_item(self._journal, id)

    def events(self, run_id: str = "", *, follow: bool = False, after: int = 0) -> AsyncIterator[Entry]:
        """The journal, of one run or of all, as it stands; with `follow`, what comes after too."""
        if follow:
            return (entry async for entry in self._journal.follow(after) if run_id in ("", entry.stream))
        return self._journal.read(Query(stream=run_id, after=after))

    async def find(self, wanted: Filter) -> list[Entry]:
        """Entries by work session, agent, step, role, type and time; the newest first."""
        return await self._workshop.index().find(self._journal, wanted)

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[EventBus]:
        """Hear what happens in this project from now on: `bus.subscribe("task.*", listener)`."""
        from folkmoot.engine.outlets import EventBus

        async with EventBus(self._journal, self._workshop.clock, await self.position()) as bus:
            yield bus

    async def projected(self) -> dict[str, str]:
        """The files below `.folkmoot` that say what the journal says of this project's records, by path."""
        from folkmoot.engine.outlets import render_record_files

        return await render_record_files(self.moot)

    async def position(self) -> int:
        """Where the journal ends now: follow from here to see only what is to come."""
        return await history.last_position(self._journal)

    @property
    def moot(self) -> OpenProject:
        """What outlives the runs of this project: tasks, plans, decisions, work sessions."""
        project = cast(OpenProject, self._workshop.moot(self.graph))  # as RECORDS makes it
        project.engine = self._engine
        return project

    @property
    def control(self) -> WorkSessionControl:
        """Pause, resume and stop work sessions together with their runs: `await moot.control.pause(id)`."""
        return self.moot.control

    def agent(self, name: str) -> Agent:
        """An agent by its file or its id."""
        return find_agent(self.graph, name)


def _audience(
    hear: SpanTokenListener | TokenListeners | None, answer: ItemHandler | None, *, wait: bool
) -> RunClient:
    ear = hear if hear is None or isinstance(hear, TokenListeners) else TokenListeners(hear)
    return RunClient(ear=ear, attendance=InboxOptions(answer=answer, stay=wait))
