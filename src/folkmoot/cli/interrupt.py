"""Ctrl-C, SIGTERM and a closed terminal: the first cancels cleanly, the second leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
T = TypeVar("T")


def run_interruptibly(
    work: Coroutine[Any, Any, T], *, first: Callable[[], None], second: Callable[[], None]
) -> T:
    """As `asyncio.run`. `first` is called when the work is being cancelled, `second` before leaving.

    Raises KeyboardInterrupt if the work gave nothing. The handlers hold until the loop is closed, because a
    tool that cannot be stopped may keep it from closing.
    """
    at_work: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> T:
        task = asyncio.current_task()
        assert task is not None
        at_work.append((asyncio.get_running_loop(), task))
        return await work

    def stop() -> None:
        first()
        at_work[0][1].cancel()

    pressed = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1 or not at_work:
            second()
            sys.stderr.flush()
            _stop_tool_servers()
            os._exit(INTERRUPTED)
        at_work[0][0].call_soon_threadsafe(stop)

    with _handle_signals(press):
        try:
            return asyncio.run(noted())
        except asyncio.CancelledError:
            if not pressed:
                raise  # nobody asked for it
            raise KeyboardInterrupt from None


def on_stop_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at each signal that ends the program, in the running event loop."""
    for number in _list_stop_signals():
        asyncio.get_running_loop().add_signal_handler(number, stop)


def _list_stop_signals() -> list[signal.Signals]:
    """Without those that were ignored when the program started, by `nohup` or by a shell's `&` in a script."""
    return [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def _handle_signals(press: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, press) for number in _list_stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop_tool_servers() -> None:
    """Who leaves at once has no time for the tool servers that it started; they are not left behind."""
    from folkmoot.engine.claims import this_process
    from folkmoot.tools.mcp.config import end_processes

    mine = this_process().rpartition("/")[0]
    end_processes(lambda mark: mark.startswith(f"{mine}/"))
