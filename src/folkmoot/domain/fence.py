"""Who may act on a run, and when: the decisions that keep an effect from happening twice, as pure functions.

A run has one owner at a time, under an epoch that each claim raises. The owner renews its claim; a process that wants
the run takes it over when it has watched a whole lease go by without a renewal. The journal, the engine and the inbox
ask these functions; `tests/domain/test_fence_model.py` explores every interleaving of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from folkmoot.domain.duration import later
from folkmoot.domain.value import Value

MARGIN = 5.0
"""Seconds between the latest moment at which a former owner's call ends and a repetition."""
_NO_TIMEOUT = 300.0
"""Seconds that a call without a timeout is given before it may be repeated."""
_REMEMBERED = 10_000
"""Runs that are watched at once."""


class Sign(Value):
    """The last sign of life that the owner of a run left in the journal."""

    owner: str
    epoch: int
    renewal: int
    """Counts the claims and renewals of the run."""
    lease: float
    """Seconds for which the owner may act without a renewal; 0: nobody owns the run."""


def may_take_over(sign: Sign, seen: Sign | None, watched: float) -> bool:
    """Whether a process may claim a run that shows `sign`, if it saw `seen` so many seconds ago by its own clock."""
    return not sign.lease or (sign == seen and watched >= sign.lease)


def may_call(boot: float, wall: float, lease: float) -> bool:
    """Whether the owner of a run may make a call that has effects, so many seconds after it sent its last confirmed
    renewal, by the boot-time clock and by the wall clock.

    The larger one counts: the boot-time clock stands still while a virtual machine is paused, the wall clock may be set
    back.
    """
    return max(boot, wall) < lease


def settle_uncertain(*, found: bool, epoch: int, now: int) -> Literal["written", "lost", "again"]:
    """What became of a commit under `epoch` whose answer was lost, given whether its entries were found and the epoch
    `now`, both read under one lock: its entries count, its writer has lost the run, or it is decided anew."""
    if not found:
        return "again"
    return "written" if epoch == now else "lost"


def retry_delay(lease: float, timeout: float) -> float:
    """Seconds for which a call in doubt cannot be repeated: its former owner may act until its lease ends, and its call
    last until the tool's timeout."""
    return lease + (timeout or _NO_TIMEOUT) + MARGIN


def retry_opens_at(doubted: str, delay: float) -> str:
    """From when on a call that came in doubt at this moment may be repeated; empty: at once."""
    return later(doubted, delay) if delay else ""


class Watch:
    """Watches the owners of runs: how long each has given no sign of life, by the monotonic clock of this process."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._seen: dict[str, tuple[Sign, float]] = {}
        """By run: its last sign, and when it was first seen."""

    def silent(self, run: str, sign: Sign) -> bool:
        """Whether `sign`, just read, was the last for so long that this process may take the run over."""
        now = self._monotonic()
        seen, since = self._seen.get(run, (None, now))
        if seen != sign:
            self._seen.pop(run, None)  # so that the oldest stand first
            self._seen[run] = sign, now
            if len(self._seen) > _REMEMBERED:
                del self._seen[next(iter(self._seen))]
        return may_take_over(sign, seen, now - since)

    def left(self, run: str) -> float:
        """Seconds for which a run that was seen must be watched still."""
        sign, since = self._seen[run]
        return max(since + sign.lease - self._monotonic(), 0.0)
