"""Carries a run out in front of its user: shows it as lines or a live tree, asks what it waits for, and lets Ctrl-C
cancel it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from folkmoot.app import Folkmoot
from folkmoot.cli.call import GlobalOptions, Target
from folkmoot.cli.interrupt import run_interruptibly
from folkmoot.cli.output import console, format_one_line, sanitize_text, set_redactor, write_stderr
from folkmoot.cli.trust import ask_for_trust, is_interactive
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS, RunParked, SessionFailed
from folkmoot.domain.inbox import Item, Reply, check_time
from folkmoot.engine.claims import RunIdentity, draw_identity
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import allow_call_always
from folkmoot.engine.workshop import Surroundings
from folkmoot.errors import Untrusted, WrongUse
from folkmoot.operations.actor import account_name
from folkmoot.orchestration.inbox import ItemHandler
from folkmoot.orchestration.invocation import SpanTokenListener
from folkmoot.ports import Clock
from folkmoot.views.inbox import described
from folkmoot.views.timeline import line_of

if TYPE_CHECKING:
    from folkmoot.views.result import Result

_BEAT = 0.1
_PATIENCE = 30.0
"""Seconds that the display may need to catch up with a run that is over: so long only if the journal fails it."""

Begin = Callable[["Folkmoot", "SpanTokenListener | None", "ItemHandler | None"], Awaitable["Result"]]
"""Starts a run, or takes one up again; told who hears the answers of models, and who answers agents."""


def run_in_terminal(
    call: GlobalOptions, target: Target, begin: Begin, *, quiet: bool, run_id: str = "", pinned: str = ""
) -> Result:
    """The result, also of a run that was cancelled. Raises KeyboardInterrupt if none had begun by then.

    `run_id` is the run that goes on; `pinned` is the one whose files are used, otherwise it is those of now.
    """
    progress = choose_progress(quiet=quiet, verbose=call.verbose)

    def attempt() -> Result:
        return run_interruptibly(
            _TerminalRun(call, target, progress, run_id, pinned).to_its_end(begin),
            first=lambda: progress.note("stopping; once more to leave at once"),
            second=progress.close,
        )

    try:
        return attempt()
    except Untrusted:
        if not is_interactive() or not ask_for_trust(call, target):
            raise
    return attempt()


class _TerminalRun:
    """One run of this process, from its start or from where it was interrupted."""

    def __init__(
        self, call: GlobalOptions, target: Target, progress: Progress, run_id: str, pinned: str
    ) -> None:
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
                set_redactor(moot.secrets.text)
                try:
                    answer = self._person() if is_interactive() else None
                    return await begin(moot, self._progress.hear, answer)
                except asyncio.CancelledError:
                    if not self._run_id or not task.cancelling():  # a cancellation that nobody asked for
                        raise
                    task.uncancel()
                    return await moot.result(self._run_id)

    def _person(self) -> TerminalResponder:
        return TerminalResponder(self._progress.aside, partial(add_approval_rule, self._target.folder))

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

    def _identify(self, clock: Clock) -> RunIdentity:
        identity = draw_identity(clock)
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


ALWAYS = "always"
HINTS = {
    "question": "your answer (empty: later)",
    "approval": "y to approve, run or always for equal calls too, n [reason] to deny (empty: later)",
    "in_doubt": "done [result], retry, or fail [reason] (empty: later)",
    "client_call": "its result, or fail [reason] (empty: later)",
}
"""What may be typed for each kind."""


class TerminalResponder:
    """`aside` makes room on the screen while somebody is asked."""

    def __init__(
        self,
        aside: Callable[[], AbstractContextManager[object]],
        remember: Callable[[Item, str], None] = lambda *_: None,
    ) -> None:
        self._aside = aside
        self._remember = remember
        """Keep a call that somebody always allows, for later runs."""

    async def __call__(self, item: Item) -> Reply | None:
        with self._aside():
            for line in described(item):
                write_stderr(line)
            try:
                return await self._reply(item)
            except asyncio.CancelledError:
                write_stderr(f"no longer asked: {item.id}", "dim")
                raise

    async def _reply(self, item: Item) -> Reply | None:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before it was shown is no answer to it
        while True:
            write_stderr(f"{HINTS[item.kind]}:", "bold")
            typed = await _read_line()
            if typed is None or not typed.strip():
                write_stderr(f"left for later: {item.id}", "dim")
                return None
            if reply := parse_reply(item, typed.strip(), account_name()):
                try:
                    check_time(item, reply, SystemClock().now())
                except WrongUse as error:
                    write_stderr(str(error), "yellow")
                    continue
                if typed.strip().lower() == ALWAYS:
                    self._keep(item, reply.by)
                return reply

    def _keep(self, item: Item, by: str) -> None:
        try:
            self._remember(item, by)
        except WrongUse as error:
            write_stderr(str(error), "yellow")


def add_approval_rule(folder: Path, item: Item, by: str) -> None:
    """Always allow this very call: with a rule in the project's settings."""

    if item.kind != "approval" or not item.is_open:
        raise WrongUse(f"{item.id} is no approval that waits for a word")
    allow_call_always(folder, item, by)
    write_stderr("folkmoot.yaml has a rule for this call now; take the rule out to be asked again")


def parse_reply(item: Item, typed: str, by: str) -> Reply | None:
    """None for what cannot be understood; then it is asked again."""
    word, _, rest = typed.partition(" ")
    match item.kind, word.lower():
        case "approval", "y" | "yes":
            return item.approve(by)
        case "approval", "run" | "always" if not rest:
            return item.approve(by, "run")
        case "approval", "n" | "no":
            return item.deny(rest.strip(), by)
        case ("in_doubt", "done" | "retry" | "fail" as decision) | ("client_call", "fail" as decision):
            return item.settle(decision, rest.strip(), by)
        case (("question" | "client_call"), _):
            return item.answer(typed, by)
        case _:
            return None


async def _read_line() -> str | None:
    """One line of stdin, without a thread that could not be stopped; None at its end."""
    loop = asyncio.get_running_loop()
    with _watch_stdin(loop) as readable:
        await readable
    typed = os.read(sys.stdin.fileno(), 65536)
    return typed.decode(errors="replace") if typed else None


@contextmanager
def _watch_stdin(loop: asyncio.AbstractEventLoop) -> Iterator[asyncio.Future[None]]:
    ready: asyncio.Future[None] = loop.create_future()
    descriptor = sys.stdin.fileno()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, tell)
    try:
        yield ready
    finally:
        loop.remove_reader(descriptor)


_log = logging.getLogger("folkmoot")
_WIDEST = 1000
"""Characters of a line: what a tool or an agent said may be a book."""


class Progress(Protocol):
    hear: SpanTokenListener | None
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
        return SilentProgress()
    target = console(stderr=True)
    dumb = os.environ.get("TERM") == "dumb" or not target.encoding.lower().startswith("utf")
    if not sys.stderr.isatty() or dumb or verbose:
        return LineProgress(detailed=verbose)
    from folkmoot.cli.live import LiveDisplay

    return LiveDisplay(target)


class SilentProgress:
    hear: SpanTokenListener | None = None

    def take(self, draft: Draft) -> None:
        if line := line_of(draft, detailed=True):
            _log.info(sanitize_text(line))

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


class LineProgress(SilentProgress):
    """One line per step, for logs and for terminals that can do no more."""

    def __init__(self, *, detailed: bool) -> None:
        self._detailed = detailed

    def take(self, draft: Draft) -> None:
        super().take(draft)
        if isinstance(draft.event, SessionFailed) and "/" not in draft.span:
            return  # the whole run failed with it, and its end is told
        if line := line_of(draft, detailed=self._detailed):
            indent = line[: len(line) - len(line.lstrip())]
            write_stderr(indent + format_one_line(line, _WIDEST))

    def note(self, text: str) -> None:
        write_stderr(text)
