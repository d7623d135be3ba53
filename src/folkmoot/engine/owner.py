"""Names of runs and of the processes that run them: who has claimed a run, and whether that process still lives."""

from __future__ import annotations

import asyncio
import math
import os
import re
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from folkmoot.domain.value import Value
from folkmoot.errors import Held, OperationFailed
from folkmoot.ports import Claim, Clock, Journal


class Identity(Value):
    run: str
    seed: str


def drawn(clock: Clock) -> Identity:
    """The only true chance there is in a run."""
    day, _, rest = clock.now().partition("T")
    time = rest[:8].replace(":", "")
    return Identity(f"{day.replace('-', '')}-{time}-{os.urandom(4).hex()}", os.urandom(16).hex())


def chance() -> str:
    """For the id of what a person creates."""
    return os.urandom(16).hex()


LEASE = 30.0
"""Seconds for which a run stays with a process that says nothing any more."""
LABEL = 36
"""Characters of a label."""
_LOOK = 0.5
"""Seconds between looks at an owner that seems to be gone."""


def this_process() -> str:
    return f"{_here()}/{os.getpid()}/{_started(os.getpid())}/{os.urandom(4).hex()}"


def this_host() -> str:
    """As a label: short enough for a name in PostgreSQL."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())
    return name if len(name) <= LABEL else f"{name[: LABEL - 9]}-{sha256(name.encode()).hexdigest()[:8]}"


def host_of(owner: str) -> str:
    """As people call it."""
    return owner.partition("/")[0].partition("+")[0]


def is_gone(owner: str) -> bool:
    """True only if the owner ran on this machine and surely ended; of other machines nothing is known."""
    host, _, rest = owner.partition("/")
    pid, _, rest = rest.partition("/")
    if host != _here() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(int(pid)) != rest.partition("/")[0]


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
            if is_gone(held.owner):
                return await journal.claim(run, owner, lease, after=held.owner)
            until = min(until, clock.monotonic() + 2 * held.wait)
            if not held.wait or leaving() or clock.monotonic() > until:
                raise
            await clock.sleep(min(held.wait, _LOOK))


async def holder(journal: Journal, run_id: str) -> str:
    """Who has its lease; empty if nobody."""
    return next((claim.owner for claim in held_claims(await journal.claims([run_id]))), "")


def held_claims(claims: Sequence[Claim]) -> list[Claim]:
    """Those whose owner has a lease and has not surely ended. Each owner is looked at once, however much it holds."""
    gone = {owner for owner in {claim.owner for claim in claims if claim.live} if is_gone(owner)}
    return [claim for claim in claims if claim.live and claim.owner not in gone]


@cache
def _here() -> str:
    """Where a process id means the same process. Hosts may share a name, and so may containers of one host, whose
    process ids have nothing to do with each other."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        machine = f"{boot}{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        machine = str(uuid.getnode())
    return f"{socket.gethostname()}+{sha256(machine.encode()).hexdigest()[:8]}"


def _started(pid: int) -> str:
    """When a process started, where the system tells it: a process id alone may be used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]  # dead, only not buried yet


@asynccontextmanager
async def alone(journal: Journal, clock: Clock, record: str) -> AsyncIterator[None]:
    """Raises `Held` if another process is at it. It says nothing about appending: records are changed by version."""
    claiming = asyncio.ensure_future(claim_run(journal, clock, record, this_process(), LEASE))
    try:
        claim = await asyncio.shield(claiming)
    except asyncio.CancelledError:
        with suppress(Held, OperationFailed):  # it may be held here by now, and nobody would let go of it
            await journal.release(await claiming)
        raise
    renewing = asyncio.create_task(_renewed(journal, clock, claim))
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(OperationFailed):  # then the lease runs out
            await journal.release(claim)


async def _renewed(journal: Journal, clock: Clock, claim: Claim) -> None:
    while True:
        await clock.sleep(LEASE / 3)
        with suppress(OperationFailed):  # a journal that is locked or away may not be so the next time
            await journal.renew([claim], LEASE)
