"""When things happened, in a time that nobody can set.

The wall clock is read once, when the watch begins; from there on time passes as the monotonic clock counts it. What
came into the journal since the last look is no older than that look, and no younger than this one; if the time written
beside it says otherwise, some clock is wrong, and it counts from now. So a clock that is set while the watch runs makes
nothing idle or dead before its time. Of what lies before its beginning nothing is known but what was written, except
that it is not in the future.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from folkmoot.ports import Clock

Key = tuple[str, ...]
"""What happened: the task or agent, and what about it."""


class Moments:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = _seconds(clock.now()) - clock.monotonic()
        self._known: dict[Key, tuple[str, float]] = {}
        self._before = -math.inf
        self.now = -math.inf

    def look(self) -> None:
        """Everything is seen anew."""
        self._before, self.now = self.now, self._ahead + self._clock.monotonic()

    def of(self, key: Key, written: str) -> float:
        """When it happened, in seconds; `written` is the time in the journal. Without one it never did."""
        if not written:
            return -math.inf
        known = self._known.get(key)
        if known is None or known[0] != written:
            at = _seconds(written)
            known = self._known[key] = (written, at if self._before <= at <= self.now else self.now)
        return known[1]

    def written(self, moment: float) -> str:
        """As the clock would write it."""
        at = datetime.fromtimestamp(moment, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()
