"""When something is new for a page that is open: a beat, at most four times a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from folkmoot.app import Folkmoot

PAUSE = 0.25
BEAT = 1.0
"""Seconds after which there is one though nothing happened: what is under way takes longer by then."""


async def beats(moot: Folkmoot, run: str, after: int) -> AsyncIterator[bool]:
    """Whether something happened in that run, or in any, since the last one."""
    rang = asyncio.Event()
    ringing = asyncio.create_task(_ring(moot, run, after, rang))
    try:
        while not ringing.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(rang.wait(), BEAT)
            happened = rang.is_set()
            rang.clear()
            yield happened
            await asyncio.sleep(PAUSE)
    finally:
        ringing.cancel()


async def _ring(moot: Folkmoot, run: str, after: int, rang: asyncio.Event) -> None:
    async for _ in moot.events(run, follow=True, after=after):
        rang.set()


def message(html: str, id: int, event: str = "message") -> str:
    """One server-sent event."""
    lines = "".join(f"data: {line}\n" for line in html.splitlines() or [""])
    return f"id: {id}\nevent: {event}\n{lines}\n"
