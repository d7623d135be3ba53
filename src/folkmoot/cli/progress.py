"""How people follow a run: nothing, one line per step, or the live tree; what fits where stderr leads."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from folkmoot.cli.output import console, in_one_line, say, shown
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SessionFailed
from folkmoot.orchestration.invocation import HearSpan
from folkmoot.views.timeline import line_of

_log = logging.getLogger("folkmoot")
_WIDEST = 1000
"""Characters of a line: what a tool or an agent said may be a book."""


class Progress(Protocol):
    hear: HearSpan | None
    """Takes the pieces of answers as they come; none: answers need not come in pieces."""

    def take(self, draft: Draft) -> None: ...

    def recall(self, draft: Draft) -> None:
        """Take what happened before this process went on with the run."""

    def note(self, text: str) -> None:
        """Say something beside what the run itself says."""

    def beat(self) -> None:
        """A tenth of a second has passed."""

    def aside(self) -> AbstractContextManager[object]:
        """Make room on the screen as long as it lasts."""

    def close(self) -> None: ...


def choose_progress(*, quiet: bool, verbose: bool) -> Progress:
    if quiet:
        return Silence()
    target = console(stderr=True)
    dumb = os.environ.get("TERM") == "dumb" or not target.encoding.lower().startswith("utf")
    if not sys.stderr.isatty() or dumb or verbose:
        return Lines(detailed=verbose)
    from folkmoot.cli.live import LiveDisplay

    return LiveDisplay(target)


class Silence:
    hear: HearSpan | None = None

    def take(self, draft: Draft) -> None:
        if line := line_of(draft, detailed=True):
            _log.info(shown(line))

    def recall(self, draft: Draft) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def beat(self) -> None:
        pass

    def aside(self) -> AbstractContextManager[object]:
        return nullcontext()

    def close(self) -> None:
        pass


class Lines(Silence):
    """One line per step, for logs and for terminals that can do no more."""

    def __init__(self, *, detailed: bool) -> None:
        self._detailed = detailed

    def take(self, draft: Draft) -> None:
        super().take(draft)
        if isinstance(draft.event, SessionFailed) and "/" not in draft.span:
            return  # the whole run failed with it, and its end is told
        if line := line_of(draft, detailed=self._detailed):
            indent = line[: len(line) - len(line.lstrip())]
            say(indent + in_one_line(line, _WIDEST))

    def note(self, text: str) -> None:
        say(text)
