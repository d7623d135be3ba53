"""All randomness of a run, drawn from its seed by name: a resumed or replayed run draws the same."""

from __future__ import annotations

from hashlib import blake2b


def draw(seed: str, *names: object, length: int = 12) -> str:
    """`length` hex digits that nobody can guess who does not know the seed."""
    text = "\x1f".join(map(str, names)).encode()
    return blake2b(text, key=seed.encode()[:64], digest_size=32).hexdigest()[:length]


def chance(seed: str, *names: object) -> float:
    """A number from 0 up to 1."""
    return int(draw(seed, *names, length=8), 16) / 0x1_0000_0000
