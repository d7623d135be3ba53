"""What root agents say in the runs of this server, so far: for pages that look now and then. Never stored."""

from __future__ import annotations

from folkmoot.orchestration.invocation import HearSpan

MOST = 200
"""Runs; the oldest are forgotten. What an agent really answered is in the journal."""


class Heard:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """By run."""

    def ear(self, run: str, also: HearSpan) -> HearSpan:
        """`also` is told the same."""
        self.texts[run] = ""
        while len(self.texts) > MOST:
            del self.texts[next(iter(self.texts))]

        def hear(span: str, piece: str) -> None:
            also(span, piece)
            if "/" not in span and run in self.texts:
                self.texts[run] += piece

        return hear
