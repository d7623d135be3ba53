"""An answer that is told while its run goes on: server-sent events in the words of one kind of client.

What is told as the answer is the report and nothing else. It is told as a model says it where it is certain that this
is the report (`session/ask.py`), otherwise when the run is over. Until then the client hears what happens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.errors import FolkmootError
from folkmoot.http.doors.reply import Going, Reply
from folkmoot.http.doors.running import Running, left
from folkmoot.http.doors.wrong import NO_RETRY, Wrong, wrong
from folkmoot.http.stream.event_source import HEARTBEAT, STALLED
from folkmoot.views.timeline import progress_line

_CATCH_UP = 5.0
"""Seconds that the progress may need to catch up with a run that is over."""
_PIECE = 400
"""Characters of the answer in one message."""
_log = logging.getLogger(__name__)


class Wire(Protocol):
    """How one kind of client is told things; each gives whole messages as they go out."""

    alive: bytes
    """A sign of life."""

    def begun(self, going: Going) -> Iterable[bytes]: ...

    def progress(self, line: str) -> Iterable[bytes]:
        """What happens, before anything is said."""

    def said(self, piece: str) -> Iterable[bytes]:
        """A piece of the answer's text."""

    def ended(self, reply: Reply) -> Iterable[bytes]:
        """All that comes behind the text."""

    def failed(self, error: Wrong) -> Iterable[bytes]: ...


class Stream(Response):
    media_type = "text/event-stream"

    def __init__(self, running: Running, going: Going, wire: Wire) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"x-accel-buffering": "no"})
        self._running, self._going, self._wire = running, going, wire
        self._clock = running.house.clock
        self._told = Told()
        self._writing = asyncio.Lock()
        """Messages that belong together go out together."""

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
            reply = await self._reply()
            if reply.wrong:
                raise reply.wrong
            for piece in pieces(self._told.rest(reply, self._running.page)):
                await self._write(self._wire.said(piece))
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

    async def _reply(self) -> Reply:
        """When there is one; meanwhile the client is told what happens, and then what is said."""
        reply = asyncio.create_task(self._running.reply(self._going))
        progress, words = asyncio.create_task(self._tell_progress()), asyncio.create_task(self._tell_words())
        try:
            await asyncio.wait({reply, words}, return_when=asyncio.FIRST_COMPLETED)
            if words.done():  # something stands in the way: who misses words is told no others
                words.result()
            await asyncio.wait({progress}, timeout=_CATCH_UP)  # who cannot be told that, is told the end
            async with self._writing:  # whatever was begun has gone out
                progress.cancel()
                words.cancel()
            return await reply
        finally:
            for task in (reply, progress, words):
                task.cancel()
            await asyncio.gather(reply, progress, words, return_exceptions=True)

    async def _tell_progress(self) -> None:
        async for draft in self._running.progress(self._going):
            if line := progress_line(draft):
                await self._write(self._progress(line))

    def _progress(self, line: str) -> Iterator[bytes]:
        if not self._told.text:
            yield from self._wire.progress(line)

    async def _tell_words(self) -> None:
        async for said in self._running.words(self._going):
            await self._write(self._more(said))

    def _more(self, said: str) -> Iterator[bytes]:
        if new := self._told.more(said):
            yield from self._wire.said(new)

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(HEARTBEAT)
            await self._write((self._wire.alive,))

    async def _write(self, messages: Iterable[bytes]) -> None:
        """Raises TimeoutError if the client does not take it."""
        async with self._writing:
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


class Told:
    def __init__(self) -> None:
        self.text = ""

    def more(self, said: str) -> str:
        """What comes behind what the client has. A blank answer is none, and an attempt after one that broke off has
        nothing to add before it has come as far in the same words."""
        if not said.strip() or not said.startswith(self.text):
            return ""
        new, self.text = said[len(self.text) :], said
        return new

    def rest(self, reply: Reply, page: str) -> str:
        """What is missing in the end. Raises `Wrong` if what the client was told is not the answer; `page` is the
        address of this server."""
        if not reply.text.startswith(self.text):
            raise Wrong(
                500,
                "what was streamed is not the answer: the model broke off and then said something else."
                f" Run {reply.run} is {reply.status}; what it came to stands at {page}runs/{reply.run}, and"
                f" `folkmoot runs show {reply.run}` shows it",
                code="answer_changed",
                headers=NO_RETRY,
            )
        return reply.text[len(self.text) :]
