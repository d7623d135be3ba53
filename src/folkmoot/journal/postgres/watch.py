"""Watches the owners of runs: how long each has given no sign of life, by the monotonic clock of this process."""

from __future__ import annotations

from collections.abc import Callable

from folkmoot.domain.fence import Sign, may_take_over

_REMEMBERED = 10_000


class Watch:
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
