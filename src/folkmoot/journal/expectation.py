"""What an append may demand of its stream, and when a lease holds, in one place for all journals."""

from __future__ import annotations

from typing import assert_never

from folkmoot.errors import Conflict, StaleOwner
from folkmoot.ports import Epoch, NewRun, Version

LONGEST_LEASE = 60.0
"""Seconds; nobody asks for more."""


def is_live(until: float, now: float) -> bool:
    """Whether a lease holds. One that ends later than any can is from before the machine, and its time, began anew."""
    return now < until <= now + LONGEST_LEASE


def check(stream: str, expected: NewRun | Epoch | Version, epoch: int, run_seq: int | None) -> None:
    """Refuse what does not fit a stream with this epoch (0: never owned) and this end (None: no stream)."""
    match expected:
        case Epoch():
            if expected.number != epoch or not epoch:
                raise StaleOwner(
                    f"run {stream!r} is at epoch {epoch}; what was begun under {expected.number} is void"
                )
        case NewRun():
            if run_seq is not None:
                raise Conflict(f"there is already a run {stream!r}")
        case Version():
            if expected.number != (run_seq or 0):
                raise Conflict(
                    f"{stream!r} is at version {run_seq or 0}, not {expected.number}; read it again and retry"
                )
        case _:
            assert_never(expected)
