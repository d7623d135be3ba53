"""An answer that is told while its run goes on: server-sent events in the words of one kind of client.

What is told as the answer is the report and nothing else, so it comes when the run is over: nobody knows before that
whether what a model says now is the answer. Until then the client hears what happens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.domain.canonical import visible
from folkmoot.errors import FolkmootError
from folkmoot.http.doors.reply import Going, Reply
from folkmoot.http.doors.running import Running, left
from folkmoot.http.doors.wrong import Wrong, wrong
from folkmoot.http.stream.event_source import HEARTBEAT, STALLED
from folkmoot.views.timeline import line_of

_CATCH_UP = 2.0
"""Seconds that the progress may need to catch up with a run that is over."""
_LINE = 300
"""Characters of one line of progress."""
_PIECE = 400
"""Characters of the answer in one message."""
_log = logging.getLogger(__name__)


class Wire(Protocol):
    """How one kind of client is told things; each gives whole messages as they go out."""

    alive: bytes
    """A sign of life."""

    def begun(self, going: Going) -> Iterable[bytes]: ...

    def progress(self, line: str) -> Iterable[bytes]: ...

    def ended(self, reply: Reply) -> Iterable[bytes]: ...

    def failed(self, error: Wrong) -> Iterable[bytes]: ...


class Stream(Response):
    media_type = "text/event-stream"

    def __init__(self, running: Running, going: Going, wire: Wire) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"x-accel-buffering": "no"})
        self._running, self._going, self._wire = running, going, wire
        self._clock = running.house.clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        telling, gone = asyncio.create_task(self._tell()), asyncio.create_task(left(receive))
        beating = asyncio.create_task(self._beat())
        try:
            await asyncio.wait({telling, gone, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not telling.done() or telling.exception():  # the client has gone, or takes nothing any more
                await self._running.cancel(self._going)
        finally:
            for task in (telling, gone, beating):
                task.cancel()
            await asyncio.gather(telling, gone, beating, return_exceptions=True)

    async def _tell(self) -> None:
        try:
            await self._write(self._wire.begun(self._going))
            reply = await self._after_its_progress()
            if reply.wrong:
                raise reply.wrong
            await self._write(self._wire.ended(reply))
        except FolkmootError as error:
            await self._write(self._wire.failed(wrong(error)))
        except TimeoutError:
            raise
        except Exception:
            _log.exception("a stream broke off: run %s", self._going.run)
            surprise = Wrong(500, "something went wrong here; the log of the server says what")
            await self._write(self._wire.failed(surprise))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _after_its_progress(self) -> Reply:
        telling = asyncio.create_task(self._tell_progress())
        try:
            reply = await self._running.reply(self._going)
            await asyncio.wait({telling}, timeout=_CATCH_UP)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)  # who cannot be told that, is told the end
        return reply

    async def _tell_progress(self) -> None:
        async for draft in self._running.progress(self._going):
            if line := visible(" ".join(line_of(draft).split())):
                await self._write(self._wire.progress(line[:_LINE]))

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(HEARTBEAT)
            await self._write((self._wire.alive,))

    async def _write(self, messages: Iterable[bytes]) -> None:
        """Raises TimeoutError if the client does not take it."""
        for body in messages:
            message = {"type": "http.response.body", "body": body, "more_body": True}
            await self._clock.within(STALLED, self._send(message))


def event(data: Any, name: str = "") -> bytes:
    """One message; JSON has no line ends of its own."""
    head = b"event: %b\n" % name.encode() if name else b""
    return b"%bdata: %b\n\n" % (head, msgspec.json.encode(data))


def pieces(text: str) -> Iterator[str]:
    """A long answer as several."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
