"""Carries a run out in front of its user: shows it, lets Ctrl-C cancel it, and returns its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, redirect_stdout, suppress
from functools import partial
from typing import TYPE_CHECKING

from folkmoot.app import Folkmoot
from folkmoot.cli.asking import TerminalAnswerer, remember
from folkmoot.cli.call import Call, Target
from folkmoot.cli.interrupt import run_interruptibly
from folkmoot.cli.progress import Progress, choose_progress
from folkmoot.cli.shown import hide
from folkmoot.cli.trust import ask_for_trust, is_attended
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.engine.owner import Identity, drawn
from folkmoot.engine.workshop import Surroundings
from folkmoot.errors import Untrusted
from folkmoot.orchestration.inbox import Answerer
from folkmoot.orchestration.invocation import HearSpan
from folkmoot.ports import Clock

if TYPE_CHECKING:
    from folkmoot.views.result import Result

_BEAT = 0.1
_PATIENCE = 30.0
"""Seconds that the display may need to catch up with a run that is over: so long only if the journal fails it."""

Begin = Callable[["Folkmoot", "HearSpan | None", "Answerer | None"], Awaitable["Result"]]
"""Starts a run, or takes one up again; told who hears the answers of models, and who answers agents."""


def perform(
    call: Call, target: Target, begin: Begin, *, quiet: bool, run_id: str = "", pinned: str = ""
) -> Result:
    """The result, also of a run that was cancelled. Raises KeyboardInterrupt if none had begun by then.

    `run_id` is the run that goes on; `pinned` is the one whose files are used, otherwise it is those of now.
    """
    progress = choose_progress(quiet=quiet, verbose=call.verbose)

    def attempt() -> Result:
        return run_interruptibly(
            _Performance(call, target, progress, run_id, pinned).to_its_end(begin),
            first=lambda: progress.note("stopping; once more to leave at once"),
            second=progress.close,
        )

    try:
        return attempt()
    except Untrusted:
        if not is_attended() or not ask_for_trust(call, target):
            raise
    return attempt()


class _Performance:
    """One run of this process, from its start or from where it was interrupted."""

    def __init__(self, call: Call, target: Target, progress: Progress, run_id: str, pinned: str) -> None:
        self._call = call
        self._target = target
        self._progress = progress
        self._run_id = run_id
        """Known from the start when a run is resumed, otherwise when it gets its name."""
        self._pinned = pinned
        self._seen = 0
        """How much of the journal was shown."""
        self._last = sys.maxsize
        """The last entry that is to be shown, as soon as that is known."""

    async def to_its_end(self, begin: Begin) -> Result:
        task = asyncio.current_task()
        assert task is not None
        with redirect_stdout(sys.stderr):  # what tools print is no report
            async with self._opened() as moot, self._followed(moot):
                hide(moot.secrets.text)
                try:
                    answer = self._person() if is_attended() else None
                    return await begin(moot, self._progress.hear, answer)
                except asyncio.CancelledError:
                    if not self._run_id or not task.cancelling():  # a cancellation that nobody asked for
                        raise
                    task.uncancel()
                    return await moot.result(self._run_id)

    def _person(self) -> TerminalAnswerer:
        return TerminalAnswerer(self._progress.aside, partial(remember, self._target.folder))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Folkmoot]:
        around = Surroundings(identify=self._identify)
        if self._pinned:
            async with Folkmoot.reopen(self._target.folder, self._pinned, around=around) as moot:
                yield moot
            return
        async with Folkmoot.open(
            self._target.folder,
            overrides=self._call.overrides,
            around=around,
            only=self._target.agent if self._target.alone else None,
        ) as moot:
            yield moot

    def _identify(self, clock: Clock) -> Identity:
        identity = drawn(clock)
        self._run_id = identity.run
        return identity

    @asynccontextmanager
    async def _followed(self, moot: Folkmoot) -> AsyncIterator[None]:
        """Show what the journal says, as it says it."""
        after = await moot.position()
        following = asyncio.create_task(self._follow(moot, after, resumed=self._run_id))
        beating = asyncio.create_task(self._beat())
        try:
            yield
            self._last = await moot.position()
            if self._last > self._seen:
                await asyncio.wait({following}, timeout=_PATIENCE)
        finally:
            for task in (following, beating):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._progress.close()

    async def _follow(self, moot: Folkmoot, after: int, resumed: str) -> None:
        if resumed:
            async for entry in moot.events(resumed):
                self._progress.recall(entry.draft)
                after = self._seen = max(after, entry.seq)
        async for entry in moot.events(follow=True, after=after):
            self._seen = entry.seq
            if entry.stream == self._run_id:
                self._progress.take(entry.draft)
                if isinstance(entry.event, (*RUN_ENDS, RunParked)):
                    return
            if entry.seq >= self._last:
                return

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            self._progress.beat()
