"""Claims and leases: names of runs and of the processes that run them, who has claimed a run, and the runs that this
process holds."""

from __future__ import annotations

import asyncio
import math
import os
import re
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Literal

from folkmoot.domain.fence import may_call
from folkmoot.domain.value import Value
from folkmoot.engine.activation import Activation
from folkmoot.errors import HandedOver, Held, OperationFailed, StaleOwner
from folkmoot.orchestration.log import Ownership
from folkmoot.ports import Claim, Clock, Journal


class RunIdentity(Value):
    run: str
    seed: str


def draw_identity(clock: Clock) -> RunIdentity:
    """The only true chance there is in a run."""
    day, _, rest = clock.now().partition("T")
    time = rest[:8].replace(":", "")
    return RunIdentity(f"{day.replace('-', '')}-{time}-{os.urandom(4).hex()}", os.urandom(16).hex())


def draw_id_seed() -> str:
    """For the id of what a person creates."""
    return os.urandom(16).hex()


ATTEND_EVERY = 0.25
"""Seconds between looks into the inboxes of the runs that are held here."""
LEASE = 30.0
"""Seconds for which a run stays with a process that says nothing any more."""
LABEL = 36
"""Characters of a label."""
_LOOK = 0.5
"""Seconds between looks at an owner that seems to be gone."""


class WorkerIdentity(Value):
    """Where runs are, for this process."""

    label: str = ""
    """Of the place where its working folders are: runs that used one elsewhere are left alone."""
    lease: float = LEASE
    """Seconds without a sign of life after which others take its runs over."""


class WorkerOptions(Value):
    """How a worker works."""

    place: WorkerIdentity = WorkerIdentity()
    concurrency: int = 10
    """Runs at once."""
    grace: float = 10.0
    """Seconds for calls under way to end after it was told to stop."""
    rebuild: bool = False
    """Forget all jobs first; they are made anew from the journal."""


def this_process() -> str:
    return f"{_find_machine_id()}/{os.getpid()}/{_read_start_time(os.getpid())}/{os.urandom(4).hex()}"


def this_host() -> str:
    """As a label: short enough for a name in PostgreSQL."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())
    return name if len(name) <= LABEL else f"{name[: LABEL - 9]}-{sha256(name.encode()).hexdigest()[:8]}"


def host_of(owner: str) -> str:
    """As people call it."""
    return owner.partition("/")[0].partition("+")[0]


def is_owner_gone(owner: str) -> bool:
    """True only if the owner ran on this machine and surely ended; of other machines nothing is known."""
    host, _, rest = owner.partition("/")
    pid, _, rest = rest.partition("/")
    if host != _find_machine_id() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _read_start_time(int(pid)) != rest.partition("/")[0]


async def claim_run(
    journal: Journal,
    clock: Clock,
    run: str,
    owner: str,
    lease: float,
    leaving: Callable[[], bool] = lambda: False,
) -> Claim:
    """Claim a run or another stream that nobody else has: its owner let it go, has surely ended, or was silent for its
    whole lease. Raises `Held` if the owner seems alive, or when this process is `leaving`.

    An owner that only seems to be gone is watched for as long as it takes to be certain.
    """
    until = math.inf
    while True:
        try:
            return await journal.claim(run, owner, lease)
        except Held as held:
            if is_owner_gone(held.owner):
                return await journal.claim(run, owner, lease, after=held.owner)
            until = min(until, clock.monotonic() + 2 * held.wait)
            if not held.wait or leaving() or clock.monotonic() > until:
                raise
            await clock.sleep(min(held.wait, _LOOK))


async def find_holder(journal: Journal, run_id: str) -> str:
    """Who has its lease; empty if nobody."""
    return next((claim.owner for claim in held_claims(await journal.claims([run_id]))), "")


def held_claims(claims: Sequence[Claim]) -> list[Claim]:
    """Those whose owner has a lease and has not surely ended. Each owner is looked at once, however much it holds."""
    gone = {owner for owner in {claim.owner for claim in claims if claim.live} if is_owner_gone(owner)}
    return [claim for claim in claims if claim.live and claim.owner not in gone]


@cache
def _find_machine_id() -> str:
    """Where a process id means the same process. Hosts may share a name, and so may containers of one host, whose
    process ids have nothing to do with each other."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        machine = f"{boot}{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        machine = str(uuid.getnode())
    return f"{socket.gethostname()}+{sha256(machine.encode()).hexdigest()[:8]}"


def _read_start_time(pid: int) -> str:
    """When a process started, where the system tells it: a process id alone may be used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]  # dead, only not buried yet


@asynccontextmanager
async def lock_record(journal: Journal, clock: Clock, record: str) -> AsyncIterator[None]:
    """Raises `Held` if another process is at it. It says nothing about appending: records are changed by version."""
    claiming = asyncio.ensure_future(claim_run(journal, clock, record, this_process(), LEASE))
    try:
        claim = await asyncio.shield(claiming)
    except asyncio.CancelledError:
        with suppress(Held, OperationFailed):  # it may be held here by now, and nobody would let go of it
            await journal.release(await claiming)
        raise
    renewing = asyncio.create_task(_renew_forever(journal, clock, claim))
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(OperationFailed):  # then the lease runs out
            await journal.release(claim)


async def _renew_forever(journal: Journal, clock: Clock, claim: Claim) -> None:
    while True:
        await clock.sleep(LEASE / 3)
        with suppress(OperationFailed):  # a journal that is locked or away may not be so the next time
            await journal.renew([claim], LEASE)


@dataclass(eq=False)
class HeldRun:
    """A run that this process owns."""

    activation: Activation
    claim: Claim
    renewed: tuple[float, float] | None
    """The readings of the clock when the last confirmed renewal was sent; None before the first."""


class HeldRuns:
    """The runs that this process holds: claimed, their leases kept, let go or left to others."""

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
        """What others left for the runs held here."""
