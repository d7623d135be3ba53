"""Asks the person at the terminal what a run waits for: one thing at a time, the whole call, nothing raw."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from folkmoot.cli.output import say
from folkmoot.domain.inbox import Item, Reply, check_time
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import WrongUse
from folkmoot.operations.actor import account_name
from folkmoot.views.inbox import described

ALWAYS = "always"
HINTS = {
    "question": "your answer (empty: later)",
    "approval": "y to approve, run or always for equal calls too, n [reason] to deny (empty: later)",
    "in_doubt": "done [result], retry, or fail [reason] (empty: later)",
    "client_call": "its result, or fail [reason] (empty: later)",
}
"""What may be typed for each kind."""


class TerminalAnswerer:
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
                say(line)
            try:
                return await self._reply(item)
            except asyncio.CancelledError:
                say(f"no longer asked: {item.id}", "dim")
                raise

    async def _reply(self, item: Item) -> Reply | None:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before it was shown is no answer to it
        while True:
            say(f"{HINTS[item.kind]}:", "bold")
            typed = await _line()
            if typed is None or not typed.strip():
                say(f"left for later: {item.id}", "dim")
                return None
            if reply := read_typed(item, typed.strip(), account_name()):
                try:
                    check_time(item, reply, SystemClock().now())
                except WrongUse as error:
                    say(str(error), "yellow")
                    continue
                if typed.strip().lower() == ALWAYS:
                    self._keep(item, reply.by)
                return reply

    def _keep(self, item: Item, by: str) -> None:
        try:
            self._remember(item, by)
        except WrongUse as error:
            say(str(error), "yellow")


def remember(folder: Path, item: Item, by: str) -> None:
    """Always allow this very call: with a rule in the project's settings."""
    from folkmoot.engine.commands import allow_call_always

    if item.kind != "approval" or not item.is_open:
        raise WrongUse(f"{item.id} is no approval that waits for a word")
    allow_call_always(folder, item, by)
    say("folkmoot.yaml has a rule for this call now; take the rule out to be asked again")


def read_typed(item: Item, typed: str, by: str) -> Reply | None:
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


async def _line() -> str | None:
    """One line of stdin, without a thread that could not be stopped; None at its end."""
    loop = asyncio.get_running_loop()
    with _readable(loop) as readable:
        await readable
    typed = os.read(sys.stdin.fileno(), 65536)
    return typed.decode(errors="replace") if typed else None


@contextmanager
def _readable(loop: asyncio.AbstractEventLoop) -> Iterator[asyncio.Future[None]]:
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
