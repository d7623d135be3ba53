"""What was not let in: all of it counted, and told in the log, however much comes, in a few lines a minute."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

LINES = 5
"""In a minute, of one kind."""
_MINUTE = 60.0
_LONGEST = 200
_log = logging.getLogger(__name__)


class Refusal(NamedTuple):
    kind: str
    """One of a few: `host`, `origin`, `token`, …"""
    status: int
    words: str


class Refusals:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.counts: Counter[str] = Counter()
        """By kind, since the server started."""
        self._told: dict[str, tuple[float, int]] = {}
        """By kind: when its minute began, and what had come before that."""
        self._silent: Counter[str] = Counter()

    def note(self, kind: str, client: str, what: str) -> None:
        """`what` is of the client's making, so it is written as it cannot be mistaken for a line of ours."""
        self.counts[kind] += 1
        began, before = self._told.get(kind, (float("-inf"), 0))
        if (now := self._monotonic()) - began > _MINUTE:
            began, before = self._told[kind] = (now, self.counts[kind] - 1)
        if self.counts[kind] - before > LINES:
            self._silent[kind] += 1
            return
        silent = self._silent.pop(kind, 0)
        more = f" ({silent} more since the last line)" if silent else ""
        _log.warning("refused: %s, from %s: %s%s", kind, client or "unknown", ascii(what[:_LONGEST]), more)
