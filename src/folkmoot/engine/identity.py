"""What a run is called, and the seed of everything random in it."""

from __future__ import annotations

import os

from folkmoot.domain.value import Value
from folkmoot.ports import Clock


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
