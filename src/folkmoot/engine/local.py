"""Runs in this process: started, resumed, cancelled, under a lease that tells others who holds them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import CancelRequested, RunParked, RunStarted
from folkmoot.domain.inbox import Item, Reply, check_time
from folkmoot.domain.inbox_events import GateChanged
from folkmoot.domain.run_row import OPEN_STATUSES
from folkmoot.domain.spans import ROOT, run_of
from folkmoot.engine.activation import (
    Activation,
    RunClient,
    RunnableProject,
    RunRequest,
    TeamSubscriber,
    build_team_watcher,
    cancel_orphan,
)
from folkmoot.engine.claims import ATTEND_EVERY, HeldRuns, RunIdentity, WorkerIdentity, draw_identity
from folkmoot.engine.commands import (
    AnswerItem,
    CancelRun,
    ChangeGate,
    CheckPause,
    Command,
    find_item,
    is_paused,
    post_body,
    read_post,
    resolve_tool_names,
)
from folkmoot.engine.history import (
    Fork,
    build_fork_entries,
    check_fit,
    read_history,
    repin,
    require_approvals,
)
from folkmoot.engine.runs import Installation
from folkmoot.errors import Conflict, Elsewhere, Held, OperationFailed, WrongUse
from folkmoot.orchestration.history import RunHistory
from folkmoot.orchestration.inbox import Inbox
from folkmoot.orchestration.ledger import BudgetLedger
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.other_runs import ResultCache, Traffic
from folkmoot.orchestration.run import AgentRun
from folkmoot.ports import Claim, Clock, Epoch, Journal, NewRun, Post, RunQuery
from folkmoot.views.result import Result


class LocalEngine(HeldRuns):
    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        identify: Callable[[Clock], RunIdentity] = draw_identity,
        subscribers: Sequence[TeamSubscriber] = (),
        place: WorkerIdentity = WorkerIdentity(),
        installation: Installation | None = None,
    ) -> None:
        """`installation`: of a journal that may hold runs of others; without it, all runs count as its own."""
        super().__init__(journal, clock, place.lease)
        self._installation = installation
        self._identify = identify
        self._label = place.label if journal.shared else ""
        self._subscribers = subscribers
        self._traffic = Traffic(journal, clock)
        self.after: Callable[[Result], Awaitable[None]] | None = None
        """Called with each run that came to rest here, before anybody hears of it."""

    async def start(
        self, project: RunnableProject, asked: RunRequest, audience: RunClient = RunClient()
    ) -> Result:
        while True:
            identity = self._named(asked)
            log = self._fresh_log(identity, asked, NewRun(self.owner, self.lease))
            run = self._made(project, identity, log, audience)
            go_on = partial(self.resume, run.id, lambda *_: project, audience)
            started = await self._signed(identity.run, project.started(asked, identity.seed))
            joins = asked.errand.work_session
            paused = partial(is_paused, self._journal, joins) if joins else None
            activation = Activation(run, started, fresh=True, paused=paused)
            try:
                return await self._activate(activation, 1, go_on)
            except Conflict:
                if asked.errand.run:  # it was begun before
                    return await go_on()

    def _made(
        self, project: RunnableProject, identity: RunIdentity, log: RunLog, audience: RunClient
    ) -> AgentRun:
        """What all agents of a run share."""
        journal, clock = self._journal, self._clock
        settings, secrets = project.graph.settings, project.secrets
        if secrets.any:
            log.redact = secrets.event
        log.watchers += [build_team_watcher(subscriber, identity.run) for subscriber in self._subscribers]
        run = AgentRun(
            id=identity.run,
            seed=identity.seed,
            graph=project.graph,
            kits=project.kits,
            models=project.models,
            tools=project.tools,
            clock=clock,
            log=log,
            keep=lambda content: journal.keep(secrets.content(content)),
            artifact=journal.artifact,
            ledger=BudgetLedger(settings.limits, clock),
            cache=ResultCache(journal, clock),
            traffic=self._traffic,
            inbox=Inbox(
                identity.run,
                log,
                audience.attendance,
                deny=settings.approvals.unattended == "deny",
                clock=clock,
                patience=settings.limits.client_call or None,
            ),
            ear=audience.ear,
            label=self._label,
            secrets=secrets,
        )
        for fold in run.folds:
            log.watch(fold)
        return run

    async def _signed(self, run: str, started: RunStarted) -> RunStarted:
        origin = await self._installation.proof(run, started.graph) if self._installation else ""
        return replace(started, origin=origin)

    def _named(self, asked: RunRequest) -> RunIdentity:
        identity = self._identify(self._clock)
        return replace(identity, run=asked.errand.run) if asked.errand.run else identity

    def _fresh_log(self, identity: RunIdentity, asked: RunRequest, expected: NewRun) -> RunLog:
        together = asked.work_session(identity.run)
        return RunLog(self._journal, self._clock, identity.run, expected, work_session=together)

    async def submit(self, project: RunnableProject, asked: RunRequest) -> str:
        """Leave a new run to the workers. Its name, when it is durable."""
        while True:
            identity = self._named(asked)
            log = self._fresh_log(identity, asked, NewRun(owner="", lease=0.0))
            agent = project.graph.agents[asked.file]
            started = await self._signed(identity.run, project.started(asked, identity.seed))
            log.note(Place(ROOT, identity.run, agent.id), started)
            try:
                await log.settle()
            except Conflict:
                if not asked.errand.run:
                    continue  # the name was taken
            return identity.run

    async def resume(
        self,
        run_id: str,
        project: Callable[[bytes, str], RunnableProject],
        audience: RunClient = RunClient(),
        current: RunnableProject | None = None,
    ) -> Result:
        """Continue a run from its journal; `project` rebuilds what the run was pinned to.

        With `current` it is pinned to that from here on.
        """
        past = await read_history(self._journal, run_id)
        if past.is_over:
            return Result(run_id, past)
        if self._installation:
            await self._installation.require(run_id, past.started)
        if current:
            check_fit(past, current.graph)
        async with self.taking_over(run_id) as claim:
            taken = await self._taken_over(claim, project, audience, current)
        go_on = partial(self.resume, run_id, project, audience)
        if isinstance(taken, Result):
            # Looked at after the release, as when a run parks.
            return await go_on() if taken.waiting and await self._journal.posts([run_id]) else taken
        return await self._activate(taken, claim.epoch, go_on)

    async def _taken_over(
        self,
        claim: Claim,
        project: Callable[[bytes, str], RunnableProject],
        audience: RunClient,
        current: RunnableProject | None,
    ) -> Activation | Result:
        """A run that is ours by now, ready to go on; or how it ended, if somebody wanted it stopped."""
        run_id = claim.run
        past = await read_history(self._journal, run_id)
        if past.is_over:
            return Result(run_id, past)
        if self._label and past.label not in ("", self._label):
            raise Elsewhere(run_id, past.label)
        if past.has(CancelRequested):
            return await self._bury(run_id, claim, past, "interrupted while it was being cancelled")
        pin = past.pins[-1]
        pinned = project(await self._journal.artifact(pin.graph), pin.graph)
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        if current:
            pinned = repin(log, pinned, current)
        if past.is_forked:
            pinned = require_approvals(pinned)
        run = self._made(pinned, RunIdentity(run_id, past.started.seed), log, audience)
        for draft in past:
            log.tell(draft.span, draft.event)
        activation = Activation(run, past.started, fresh=False)
        for post in await self._journal.posts([run_id]):
            if post.kind == CancelRun.kind:
                ended = await self._bury(run_id, claim, past, post.body)
                await self._journal.take(post)  # not before: a process that died in between would lose it
                return ended
            await self.receive(activation, post)
        return (
            await self._rested(run, claim) if await is_paused(self._journal, log.work_session) else activation
        )

    async def _rested(self, run: AgentRun, claim: Claim) -> Result:
        """Of a run that was taken over while its work session is paused: it waits until that goes on."""
        log = run.log
        parked = RunParked(waiting=(log.work_session, *run.inbox.open_ids))
        if log.drafts.last != parked:
            log.note(Place.of(log.drafts[0]), parked)
            await log.settle()
        await self._journal.release(claim)
        return Result(run.id, log.drafts)

    async def fork(self, past: RunHistory, fork: Fork, project: RunnableProject) -> str:
        """A new run with the past that it gets under its name; it is then resumed like any other."""
        while True:
            run_id = self._identify(self._clock).run
            drafts = RunHistory(build_fork_entries(past, fork, project, self._clock.now(), run_id))
            drafts[0] = replace(drafts[0], event=await self._signed(run_id, drafts.started))
            try:
                await self._journal.append(run_id, NewRun(self.owner, self.lease), drafts)
            except Conflict:
                continue  # the name was taken
            return run_id

    async def reply(self, reply: Reply, *, wake: bool = True) -> Item:
        """Say something to an item of any run. Raises `WrongUse` if it comes too late."""
        item = await find_item(self._journal, reply.id)
        check_time(item, reply, self._clock.now())
        await self.send(item.run, AnswerItem(reply, item), wake=wake)
        return item

    async def send(self, id: str, command: Command, *, wake: bool = True) -> None:
        """Bring a command to a run, or the run of a session; return when it is applied here, recorded in a run that
        nobody holds, or acknowledged by the process that holds the run. Raises `WrongUse` if the run cannot take it."""
        run_id = run_of(id)
        if activation := self.activation(run_id):
            await command.apply(activation, self._journal)
            await activation.run.log.settle()
            return
        command.check(run_id, await read_history(self._journal, run_id) if command.recorded else RunHistory())
        if not command.recorded or not await self._record(run_id, command):
            await self._journal.post(run_id, command.kind, post_body(command), wake=wake)
            while not await command.is_done(self._journal, run_id):
                await self._clock.sleep(ATTEND_EVERY)

    async def receive(self, activation: Activation, post: Post) -> None:
        """Apply what somebody left for a run that is held here; what comes too late is dropped."""
        if command := read_post(post):
            with suppress(WrongUse):
                await command.apply(activation, self._journal)
            await activation.run.log.settle()
        await self._journal.take(post)

    async def _record(self, run_id: str, command: Command) -> bool:
        """In a run that nobody holds; one that waits goes on waiting for the same. False if somebody holds it."""
        try:
            async with self.taking_over(run_id) as claim:
                past = await read_history(self._journal, run_id)
                command.check(run_id, past)
                log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
                command.record(log)
                if past.is_parked and not log.drafts.is_over:
                    log.note(Place.of(past[-1]), past.last)
                await log.settle()
                await self._journal.release(claim)
        except Held:
            return False
        return True

    async def _take_in(self) -> None:
        for post in await self._journal.posts(list(self._live)):
            if not (activation := self.activation(post.run)):
                continue  # ended or parked meanwhile; what was said to it is for whoever goes on with it
            with suppress(OperationFailed):  # somebody else owns the run by now, and gets the post
                await self.receive(activation, post)

    async def gate(self, change: GateChanged) -> GateChanged:
        """As it is noted, when a session has heard which tools it has no longer, or again."""
        change = await resolve_tool_names(self._journal, change)
        await self.send(change.session, ChangeGate(change))
        return change

    async def open_runs(self, work_session: str) -> list[str]:
        """The runs of a work session that have not ended."""
        query = RunQuery(work_session=work_session, statuses=OPEN_STATUSES, sort="started")
        return [run.run for run in await self._journal.runs(query)]

    async def look_at_pause(self, work_session: str) -> list[str]:
        """Have every run of a work session look whether that is paused or goes on, whoever holds it; the runs."""
        runs = await self.open_runs(work_session)
        command, paused = CheckPause(work_session), await is_paused(self._journal, work_session)
        for run in runs:
            if paused:
                await self.send(run, command, wake=False)
            else:  # left also for a run that is held here: it may be about to park
                await self._journal.post(run, command.kind, post_body(command))
        return runs

    async def _activate(
        self, activation: Activation, epoch: int, go_on: Callable[[], Awaitable[Result]]
    ) -> Result:
        if await self.through(activation, epoch):
            with suppress(Held):
                return await go_on()
        result = Result(activation.run.id, activation.run.log.drafts)
        if self.after:
            await self.after(result)
        return result

    async def _bury(self, run_id: str, claim: Claim, past: Sequence[Draft], reason: str) -> Result:
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        cancel_orphan(log, reason)
        await log.settle()
        return Result(run_id, log.drafts)


def encode_graph(graph: msgspec.Struct) -> bytes:
    """The graph as it is pinned: the same project gives the same bytes."""
    return msgspec.json.encode(graph, order="deterministic")
