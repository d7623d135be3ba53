"""Runs in this process: started, resumed, cancelled, under a lease that tells others who holds them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    RUN_ENDS,
    CancelRequested,
    RunCancelled,
    RunStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.gate_events import GateChanged
from folkmoot.domain.item import Reply
from folkmoot.domain.value import Value
from folkmoot.engine import gating, kept
from folkmoot.engine.activation import Activation, Project
from folkmoot.engine.fork import asking
from folkmoot.engine.inbox import ATTEND_EVERY, find_item, leave, take_in, withdrawn
from folkmoot.engine.kept import destroy_kept, destroy_post, destroy_unheld, is_kept, require_kept
from folkmoot.engine.owner import is_gone, this_process
from folkmoot.engine.pins import check_fit, pin_of, repin
from folkmoot.engine.takeover import bury
from folkmoot.errors import Conflict, Held, OperationFailed, WrongUse
from folkmoot.orchestration.cache import ResultCache
from folkmoot.orchestration.chats import Chats
from folkmoot.orchestration.evidence import EvidenceLedger
from folkmoot.orchestration.inbox import Attendance, Inbox
from folkmoot.orchestration.invocation import HearSpan, Run
from folkmoot.orchestration.ledger import Ledger
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.subscribers import TeamSubscriber, told
from folkmoot.ports import Claim, Clock, Epoch, Journal, NewRun, Post, Query
from folkmoot.views.result import Result

LEASE = 30.0


class Identity(Value):
    run: str
    seed: str


def drawn(clock: Clock) -> Identity:
    """A run's name and the seed of everything random in it: the only true chance there is."""
    day, _, rest = clock.now().partition("T")
    time = rest[:8].replace(":", "")
    return Identity(f"{day.replace('-', '')}-{time}-{os.urandom(4).hex()}", os.urandom(16).hex())


class LocalEngine:
    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        identify: Callable[[Clock], Identity] = drawn,
        subscribers: Sequence[TeamSubscriber] = (),
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._identify = identify
        self._subscribers = subscribers
        self._owner = this_process()
        self._live: dict[str, tuple[Activation, Claim]] = {}
        self._coming: set[str] = set()
        """Runs that are being taken over and are not live yet."""
        self._attending: asyncio.Task[None] | None = None

    async def start(
        self,
        project: Project,
        file: str,
        request: str,
        hear: HearSpan | None = None,
        attendance: Attendance = Attendance(),
    ) -> Result:
        while True:
            identity = self._identify(self._clock)
            log = RunLog(self._journal, self._clock, identity.run, NewRun(owner=self._owner, lease=LEASE))
            run = self._run(project, identity, log, hear, attendance)
            go_on = partial(self.resume, run.id, lambda *_: project, hear, attendance)
            asked = project.secrets.text(request)
            started = RunStarted(file, asked, project.graph_id, identity.seed, project.tools_id)
            activation = Activation(run, started, fresh=True)
            try:
                return await self._activate(activation, 1, go_on)
            except Conflict:
                continue  # the name was taken

    async def resume(
        self,
        run_id: str,
        project: Callable[[bytes, str], Project],
        hear: HearSpan | None = None,
        attendance: Attendance = Attendance(),
        current: Project | None = None,
    ) -> Result:
        """Continue a run from its journal; `project` rebuilds what the run was pinned to.

        With `current` it is pinned to that from here on.
        """
        past = await self.past(run_id)
        if isinstance(past[-1].event, RUN_ENDS):
            return Result(run_id, past)
        if current:
            check_fit(past, current.graph)
        async with self._taking_over(run_id) as claim:
            taken = await self._taken_over(claim, project, hear, attendance, current)
        if isinstance(taken, Result):
            return taken
        go_on = partial(self.resume, run_id, project, hear, attendance)
        return await self._activate(taken, claim.epoch, go_on)

    async def _taken_over(
        self,
        claim: Claim,
        project: Callable[[bytes, str], Project],
        hear: HearSpan | None,
        attendance: Attendance,
        current: Project | None,
    ) -> Activation | Result:
        """A run that is ours by now, ready to go on; or how it ended, if somebody wanted it stopped."""
        run_id = claim.run
        past = await self.past(run_id)
        if isinstance(past[-1].event, RUN_ENDS):
            return Result(run_id, past)
        started = past[0].event
        assert isinstance(started, RunStarted)
        if any(isinstance(draft.event, CancelRequested) for draft in past):
            return await self._bury(run_id, claim, past, "interrupted while it was being cancelled")
        pin = pin_of(past)
        pinned = project(await self._journal.artifact(pin.graph), pin.graph)
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        if current:
            pinned = repin(log, pinned, current)
        if any(isinstance(draft.event, RunForked) for draft in past):
            pinned = asking(pinned)
        run = self._run(pinned, Identity(run_id, started.seed), log, hear, attendance)
        for draft in past:
            for watcher in log.watchers:
                watcher(draft.span, draft.event)
        for post in await self._journal.posts([run_id]):
            if post.kind == "cancel":
                ended = await self._bury(run_id, claim, past, post.body)
                await self._journal.take(post)  # not before: a process that died in between would lose it
                return ended
            await self._receive(run, post)
        return Activation(run, started, fresh=False)

    def now(self) -> str:
        return self._clock.now()

    async def adopt(self, past: Callable[[str], Sequence[Draft]]) -> str:
        """Give a new run the past that it gets under its name; it is then resumed like any other."""
        while True:
            run_id = self._identify(self._clock).run
            try:
                await self._journal.append(run_id, NewRun(owner=self._owner, lease=0.0), past(run_id))
            except Conflict:
                continue  # the name was taken
            return run_id

    async def reply(self, reply: Reply) -> None:
        """Say something to an item of any run: to the run itself if it is held here, otherwise in its inbox."""
        item = await find_item(self._journal, reply.id)
        if item.run in self._live:
            run = self._live[item.run][0].run
            run.inbox.take(reply, now=self._clock.now())
            await run.log.settle()
        else:
            await leave(self._journal, reply, self._clock.now())
            if reply.word == "revoke":
                await withdrawn(self._journal, item, self._clock.sleep)

    async def cancel(self, run_id: str, reason: str) -> None:
        """Return when the stop is acknowledged, by whoever holds the run; a run nobody holds is ended here."""
        if run_id in self._live:
            activation, _ = self._live[run_id]
            activation.stop(reason)
            await activation.run.log.settle()
            return
        await self._unended(run_id)
        try:
            async with self._taking_over(run_id) as claim:
                await self._bury(run_id, claim, await self._unended(run_id), reason)
        except Held:
            await self._journal.post(run_id, "cancel", reason)
            await self._acknowledged(run_id)

    async def destroy(self, session_id: str, reason: str) -> None:
        """Return when a kept session cannot be asked any more, whoever holds its run."""
        run_id = session_id.partition(":")[0]
        if run_id in self._live:
            run = self._live[run_id][0].run
            destroy_kept(run.log, run.chats, session_id, reason)
            await run.log.settle()
            return
        require_kept(await self.past(run_id), session_id)
        try:
            await self._unheld(run_id, partial(destroy_unheld, session=session_id, reason=reason))
        except Held:
            await self._journal.post(run_id, kept.DESTROY, destroy_post(session_id, reason))
            while is_kept(await self.past(run_id), session_id):
                await self._clock.sleep(ATTEND_EVERY)

    async def gate(self, change: GateChanged) -> None:
        """Return when a session has heard which tools it has no longer, or again; whoever holds its run."""
        run_id = change.session.partition(":")[0]
        if run_id in self._live:
            run = self._live[run_id][0].run
            gating.gate_live(run, change)
            await run.log.settle()
            return
        gating.place_of(await self._unended(run_id), change.session)
        try:
            await self._unheld(run_id, partial(gating.gate_unheld, change=change))
        except Held:
            await self._journal.post(run_id, gating.GATE, msgspec.json.encode(change).decode())
            while not gating.is_told(await self.past(run_id), change):
                await self._clock.sleep(ATTEND_EVERY)

    async def _unheld(self, run_id: str, note: Callable[[RunLog], Awaitable[None]]) -> None:
        """Note something in a run that nobody holds. Raises `Held` if somebody does."""
        async with self._taking_over(run_id) as claim:
            past = await self.past(run_id)
            await note(RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past))
            await self._journal.release(claim)

    async def past(self, run_id: str) -> list[Draft]:
        past = [entry.draft async for entry in self._journal.read(Query(stream=run_id))]
        if not past:
            raise WrongUse(f"there is no run {run_id!r}; `folkmoot runs list` shows those that are")
        return past

    async def _unended(self, run_id: str) -> list[Draft]:
        past = await self.past(run_id)
        if isinstance(past[-1].event, RUN_ENDS):
            raise WrongUse(f"run {run_id!r} is over already: {Result(run_id, past).status}")
        return past

    async def close(self) -> None:
        """Cancel what still runs here and wait for it."""
        for activation, _ in list(self._live.values()):
            activation.stop("the process is closing")
            await activation.ended()
        if self._attending:
            self._attending.cancel()
            with suppress(asyncio.CancelledError):
                await self._attending

    def _run(
        self,
        project: Project,
        identity: Identity,
        log: RunLog,
        hear: HearSpan | None,
        attendance: Attendance,
    ) -> Run:
        settings, secrets = project.graph.settings, project.secrets
        log.redact, denies = secrets.event, settings.approvals.unattended == "deny"
        ledger, evidence = Ledger(settings.limits, self._clock), EvidenceLedger()
        chats = Chats()
        log.watchers += [ledger.fold, evidence.fold]
        if any(agent.chat for agent in project.graph.agents.values()):
            log.watchers.append(chats.fold)
        log.watchers += [told(subscriber, identity.run) for subscriber in self._subscribers]
        return Run(
            id=identity.run,
            seed=identity.seed,
            graph=project.graph,
            kits=project.kits,
            models=project.models,
            tools=project.tools,
            clock=self._clock,
            log=log,
            keep=lambda content: self._journal.keep(secrets.content(content)),
            artifact=self._journal.artifact,
            ledger=ledger,
            cache=ResultCache(self._journal, self._clock),
            turnstile=asyncio.Semaphore(settings.limits.concurrent),
            inbox=Inbox(identity.run, log, attendance, deny=denies, clock=self._clock),
            hear=hear,
            chats=chats,
            evidence=evidence,
            secrets=secrets,
        )

    async def _activate(
        self, activation: Activation, epoch: int, go_on: Callable[[], Awaitable[Result]]
    ) -> Result:
        run = activation.run
        claim = Claim(run=run.id, owner=self._owner, epoch=epoch, live=True)
        self._live[run.id] = (activation, claim)
        if self._attending is None:
            self._attending = asyncio.get_running_loop().create_task(self._attend())
        try:
            await activation.to_its_end()
        finally:
            del self._live[run.id]
        if activation.parked:
            await self._journal.release(claim)
            # Looked at after the release: whoever answers from now on sees that nobody holds the run.
            if run.inbox.missed or await self._journal.posts([run.id]):
                with suppress(Held):
                    return await go_on()
        return Result(run.id, run.log.drafts)

    @asynccontextmanager
    async def _taking_over(self, run_id: str) -> AsyncIterator[Claim]:
        """Claim a run. Two who do so in one process are one owner to the journal: the second must be told here."""
        if run_id in self._live or run_id in self._coming:
            raise Held(run_id, self._owner)
        self._coming.add(run_id)
        try:
            yield await self._claim(run_id)
        finally:
            self._coming.remove(run_id)

    async def _claim(self, run_id: str) -> Claim:
        try:
            return await self._journal.claim(run_id, self._owner, LEASE)
        except Held as held:
            if not is_gone(held.owner):
                raise
            return await self._journal.claim(run_id, self._owner, LEASE, after=held.owner)

    async def _bury(self, run_id: str, claim: Claim, past: Sequence[Draft], reason: str) -> Result:
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        bury(log, reason)
        await log.settle()
        return Result(run_id, log.drafts)

    async def _attend(self) -> None:
        """Keep the leases of the runs held here, and take in what others leave in their inboxes."""
        looks = 0
        while True:
            await self._clock.sleep(ATTEND_EVERY)
            looks += 1
            with suppress(OperationFailed):  # a journal that is locked or away may not be so at the next look
                if looks % round(LEASE / 3 / ATTEND_EVERY) == 0:
                    await self._journal.renew([claim for _, claim in self._live.values()], LEASE)
                if self._live:
                    await self._take_in()

    async def _take_in(self) -> None:
        for post in await self._journal.posts(list(self._live)):
            if post.run not in self._live:
                continue  # ended or parked meanwhile; what was said to it is for whoever goes on with it
            activation, _ = self._live[post.run]
            if post.kind == "cancel":
                activation.stop(post.body)
                await self._journal.take(post)
            else:
                with suppress(OperationFailed):  # somebody else owns the run by now, and gets the post
                    await self._receive(activation.run, post)

    async def _receive(self, run: Run, post: Post) -> None:
        if taken_in := {kept.DESTROY: kept.take_in, gating.GATE: gating.take_in}.get(post.kind):
            taken_in(run, post.body)
            await self._journal.take(post)
        else:
            await take_in(self._journal, run, post)

    async def _acknowledged(self, run_id: str) -> None:
        while True:
            past = await self.past(run_id)
            if any(isinstance(draft.event, CancelRequested | RunCancelled) for draft in past[-50:]):
                return
            if isinstance(past[-1].event, RUN_ENDS):
                return
            await self._clock.sleep(ATTEND_EVERY)


def encoded(graph: msgspec.Struct) -> bytes:
    """The graph as it is pinned: the same project gives the same bytes."""
    return msgspec.json.encode(graph, order="deterministic")
