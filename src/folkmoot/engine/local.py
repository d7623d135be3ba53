"""Runs in this process: started, resumed, cancelled, under a lease that tells others who holds them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    CancelRequested,
    RunCancelled,
    RunStarted,
    SessionCancelled,
    SessionStarted,
)
from folkmoot.domain.value import Value
from folkmoot.engine.activation import Activation, Project
from folkmoot.engine.owner import is_gone, this_process
from folkmoot.errors import Conflict, Held, WrongUse
from folkmoot.orchestration.cache import ResultCache
from folkmoot.orchestration.invocation import HearSpan, Run
from folkmoot.orchestration.ledger import Ledger
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.run import ROOT
from folkmoot.ports import Claim, Clock, Epoch, Journal, NewRun, Query
from folkmoot.views.result import Result

LEASE = 30.0
ATTEND_EVERY = 0.25
"""Seconds between looks into the inboxes of the runs that are held here."""


class Identity(Value):
    run: str
    seed: str


def drawn(clock: Clock) -> Identity:
    """A run's name and the seed of everything random in it: the only true chance there is."""
    day, _, rest = clock.now().partition("T")
    time = rest[:8].replace(":", "")
    return Identity(f"{day.replace('-', '')}-{time}-{os.urandom(4).hex()}", os.urandom(16).hex())


class LocalEngine:
    def __init__(self, journal: Journal, clock: Clock, identify: Callable[[Clock], Identity] = drawn) -> None:
        self._journal = journal
        self._clock = clock
        self._identify = identify
        self._owner = this_process()
        self._live: dict[str, tuple[Activation, Claim]] = {}
        self._attending: asyncio.Task[None] | None = None

    async def start(self, project: Project, file: str, request: str, hear: HearSpan | None = None) -> Result:
        while True:
            identity = self._identify(self._clock)
            log = RunLog(self._journal, self._clock, identity.run, NewRun(owner=self._owner, lease=LEASE))
            run = self._run(project, identity, log, hear)
            started = RunStarted(agent=file, request=request, graph=project.graph_id, seed=identity.seed)
            try:
                return await self._activate(Activation(run, started, self._clock.now(), fresh=True), epoch=1)
            except Conflict:
                continue  # the name was taken

    async def resume(
        self, run_id: str, project: Callable[[bytes, str], Project], hear: HearSpan | None = None
    ) -> Result:
        """Continue a run from its journal; `project` rebuilds what the run was pinned to."""
        past = await self.past(run_id)
        if isinstance(past[-1].event, RUN_ENDS):
            return Result(run_id, past)
        claim = await self._claim(run_id)
        past = await self.past(run_id)
        started = past[0].event
        assert isinstance(started, RunStarted)
        if any(isinstance(draft.event, CancelRequested) for draft in past):
            return await self._bury(run_id, claim, past, "interrupted while it was being cancelled")
        pinned = project(await self._journal.artifact(started.graph), started.graph)
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        run = self._run(pinned, Identity(run_id, started.seed), log, hear)
        for draft in past:
            run.ledger.fold(draft.span, draft.event)
        return await self._activate(Activation(run, started, past[0].ts, fresh=False), epoch=claim.epoch)

    async def cancel(self, run_id: str, reason: str) -> None:
        """Return when the stop is acknowledged, by whoever holds the run; a run nobody holds is ended here."""
        if run_id in self._live:
            activation, _ = self._live[run_id]
            activation.stop(reason)
            await activation.run.log.settle()
            return
        past = await self.past(run_id)
        if isinstance(past[-1].event, RUN_ENDS):
            raise WrongUse(f"run {run_id!r} is over already: {Result(run_id, past).status}")
        try:
            claim = await self._claim(run_id)
        except Held:
            await self._journal.post(run_id, "cancel", reason)
            await self._acknowledged(run_id)
        else:
            await self._bury(run_id, claim, await self.past(run_id), reason)

    async def past(self, run_id: str) -> list[Draft]:
        past = [entry.draft async for entry in self._journal.read(Query(stream=run_id))]
        if not past:
            raise WrongUse(f"there is no run {run_id!r}; `folkmoot runs list` shows those that are")
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

    def _run(self, project: Project, identity: Identity, log: RunLog, hear: HearSpan | None) -> Run:
        ledger = Ledger(project.graph.settings.limits, self._clock)
        log.watchers.append(ledger.fold)
        return Run(
            id=identity.run,
            seed=identity.seed,
            graph=project.graph,
            kits=project.kits,
            models=project.models,
            tools=project.tools,
            clock=self._clock,
            log=log,
            keep=self._journal.keep,
            ledger=ledger,
            cache=ResultCache(self._journal, self._clock),
            turnstile=asyncio.Semaphore(project.graph.settings.limits.concurrent),
            hear=hear,
        )

    async def _activate(self, activation: Activation, epoch: int) -> Result:
        run = activation.run
        claim = Claim(run=run.id, owner=self._owner, epoch=epoch, live=True)
        self._live[run.id] = (activation, claim)
        if self._attending is None:
            self._attending = asyncio.get_running_loop().create_task(self._attend())
        try:
            await activation.to_its_end()
        finally:
            del self._live[run.id]
        result = Result(run.id, run.log.drafts)
        if result.status == "waiting":
            await self._journal.release(claim)
        return result

    async def _claim(self, run_id: str) -> Claim:
        try:
            return await self._journal.claim(run_id, self._owner, LEASE)
        except Held as held:
            if not is_gone(held.owner):
                raise
            return await self._journal.claim(run_id, self._owner, LEASE, after=held.owner)

    async def _bury(self, run_id: str, claim: Claim, past: Sequence[Draft], reason: str) -> Result:
        """End a run that nobody holds: every session that began gets its end, then the run."""
        log = RunLog(self._journal, self._clock, run_id, Epoch(claim.epoch), past)
        ended = {draft.session_id for draft in past if isinstance(draft.event, SESSION_ENDS)}
        root = past[0]
        for draft in past:
            if isinstance(draft.event, SessionStarted) and draft.session_id not in ended:
                place = Place(draft.span, draft.session_id, draft.agent_id)
                log.note(place, SessionCancelled(reason=reason))
        log.note(Place(ROOT, run_id, root.agent_id), RunCancelled(reason=reason))
        await log.settle()
        return Result(run_id, log.drafts)

    async def _attend(self) -> None:
        """Keep the leases of the runs held here, and take in what others leave in their inboxes."""
        looks = 0
        while True:
            await self._clock.sleep(ATTEND_EVERY)
            looks += 1
            if looks % round(LEASE / 3 / ATTEND_EVERY) == 0:
                await self._journal.renew([claim for _, claim in self._live.values()], LEASE)
            if self._live:
                await self._take_in()

    async def _take_in(self) -> None:
        for post in await self._journal.posts(list(self._live)):
            if post.run in self._live:
                self._live[post.run][0].stop(post.body)
            await self._journal.take(post)

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
