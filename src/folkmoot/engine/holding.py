"""The runs that this process holds: claimed, their leases kept, their inboxes attended to, let go or left to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Literal

from folkmoot.domain.fence import may_call
from folkmoot.domain.spans import run_of
from folkmoot.engine.activation import Activation
from folkmoot.engine.commands import ATTEND_EVERY, Command, post_body, read_post
from folkmoot.engine.history import read_history
from folkmoot.engine.owner import LEASE, claim_run, this_process
from folkmoot.errors import HandedOver, Held, OperationFailed, StaleOwner, WrongUse
from folkmoot.orchestration.history import RunHistory
from folkmoot.orchestration.log import Ownership, Place, RunLog
from folkmoot.ports import Claim, Clock, Epoch, Journal, Post


@dataclass(eq=False)
class HeldRun:
    """A run that this process owns."""

    activation: Activation
    claim: Claim
    renewed: tuple[float, float] | None
    """The readings of the clock when the last confirmed renewal was sent; None before the first."""


class Holding:
    def __init__(self, journal: Journal, clock: Clock, lease: float = LEASE) -> None:
        self._journal = journal
        self._clock = clock
        self.lease = lease
        self.owner = this_process()
        self._live: dict[str, HeldRun] = {}
        self._coming: set[str] = set()
        """Runs that are being taken over and are not live yet."""
        self._attending: asyncio.Task[None] | None = None
        self._leaving: Literal["", "soon", "at once"] = ""

    def activation(self, run_id: str) -> Activation | None:
        """If it is held here."""
        return self._live[run_id].activation if run_id in self._live else None

    @asynccontextmanager
    async def taking_over(self, run_id: str) -> AsyncIterator[Claim]:
        """Claim a run; it is let go again if that leads to nothing. Two who do so in one process are one owner to the
        journal: the second must be told here."""
        if run_id in self._live or run_id in self._coming:
            raise Held(run_id, self.owner)
        self._coming.add(run_id)
        try:
            claim = await claim_run(
                self._journal, self._clock, run_id, self.owner, self.lease, lambda: bool(self._leaving)
            )
            try:
                yield claim
            except BaseException:
                with suppress(OperationFailed):
                    await self._journal.release(claim)
                raise
        finally:
            self._coming.remove(run_id)

    async def through(self, activation: Activation, epoch: int) -> bool:
        """Hold a run to the end of this activation. Whether it parked, and was answered before it was let go."""
        run = activation.run
        claim = Claim(run=run.id, owner=self.owner, epoch=epoch, live=True)
        begins = self._clock.readings() if activation.fresh else None
        held = self._live[run.id] = HeldRun(activation, claim, begins)
        run.log.ownership = Ownership(partial(self._confirm, held), self.lease)
        if self._attending is None or self._attending.done():
            self._attending = asyncio.get_running_loop().create_task(self._attend())
        if self._leaving:
            activation.hand_over(at_once=self._leaving == "at once")
        try:
            try:
                await activation.to_its_end()
            finally:
                del self._live[run.id]  # first: whoever is let go must not be renewed
        except HandedOver:
            await self._journal.release(claim, wake=True)
            raise
        if not activation.parked:
            return False
        await self._journal.release(claim)
        # Looked at after the release: whoever answers from now on sees that nobody holds the run.
        answered = run.inbox.missed or bool(await self._journal.posts([run.id]))
        if answered and self._leaving:
            await self._journal.release(claim, wake=True)
        return answered and not self._leaving

    def hand_over(self, *, at_once: bool = False) -> None:
        """Leave all runs to other processes when what is under way in them has ended, or at once; those too that are
        being taken over."""
        self._leaving = "at once" if at_once else "soon"
        for held in self._live.values():
            held.activation.hand_over(at_once=at_once)

    async def close(self) -> None:
        """Cancel what still runs here and wait for it."""
        for held in list(self._live.values()):
            held.activation.stop("the process is closing")
            await held.activation.ended()
        if self._attending:
            self._attending.cancel()
            with suppress(asyncio.CancelledError):
                await self._attending

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

    async def _confirm(self, held: HeldRun) -> None:
        """Return when no other process can have taken the run over. Stands before every call that has effects.

        A process that was stopped does not know for how long: if it may have been a lease, it renews its claim first.
        """
        while not self._may_call(held):
            if not await self._renew([held]):
                lost = StaleOwner(
                    f"another process has claimed run {held.claim.run!r}: this one gave no sign of life for its lease"
                )
                held.activation.run.log.close(lost)
                raise lost

    def _may_call(self, held: HeldRun) -> bool:
        if held.renewed is None:
            return False
        boot, wall = (now - then for now, then in zip(self._clock.readings(), held.renewed, strict=True))
        return may_call(boot, wall, self.lease)

    async def _renew(self, runs: Sequence[HeldRun]) -> bool:
        """Whether all of them are still owned here."""
        sent = self._clock.readings()
        owned = await self._journal.renew([held.claim for held in runs], self.lease)
        for held in runs:
            if held.claim.run in owned:
                held.renewed = max(held.renewed or sent, sent)
        return len(owned) == len(runs)

    async def _attend(self) -> None:
        """Keep the leases of the runs held here, and take in what others leave for them, as long as there are any."""
        for look in count(1):
            await self._clock.sleep(ATTEND_EVERY)
            if not self._live:
                return
            with suppress(OperationFailed):  # a journal that is locked or away may not be so at the next look
                if look % max(round(self.lease / 3 / ATTEND_EVERY), 1) == 0:
                    await self._renew(list(self._live.values()))
                await self._take_in()

    async def _take_in(self) -> None:
        for post in await self._journal.posts(list(self._live)):
            if not (activation := self.activation(post.run)):
                continue  # ended or parked meanwhile; what was said to it is for whoever goes on with it
            with suppress(OperationFailed):  # somebody else owns the run by now, and gets the post
                await self.receive(activation, post)
