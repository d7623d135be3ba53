"""Server-sent events: messages as they come, signs of life in between, and an end when the client goes."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.domain.value import Value
from folkmoot.http.stream.hub import Hub, hub_of
from folkmoot.ports import Clock

T = TypeVar("T")
RETRY = 1_000
"""Milliseconds after which a browser that was cut off comes back."""
HEARTBEAT = 15.0
"""Seconds; whoever stands between closes a connection on which nothing happens."""
STALLED = 60.0
"""Seconds after which a client that takes nothing is cut off. It comes back with the last id that it has."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_log = logging.getLogger(__name__)


class Message(Value):
    event: str
    data: str | bytes
    id: int = 0
    """Where a client goes on that comes back: the `seq` of an entry. 0: this cannot be had again."""


def event_source(
    request: Request, messages: AsyncIterator[Message], *beside: AsyncIterator[Message]
) -> Response:
    """All of them as they come; it ends with the first that ends."""
    return _EventSource(hub_of(request), (messages, *beside))


def frame(message: Message) -> bytes:
    data = message.data.encode() if isinstance(message.data, str) else message.data
    lines = b"".join(b"data: %b\n" % line for line in _LINE_END.split(data))
    id = b"id: %d\n" % message.id if message.id else b""
    return b"%bevent: %b\n%b\n" % (id, message.event.encode(), lines)


class EventStream(Response):
    """An answer that stays open, to one client."""

    media_type = "text/event-stream"
    alive = b": still here\n\n"
    """A heartbeat."""

    def __init__(self, clock: Clock) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"x-accel-buffering": "no"})
        self._clock = clock

    async def open(self, send: Send) -> None:
        self._send = send
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

    async def write(self, body: bytes, *, more: bool = True) -> None:
        """Raises TimeoutError if the client does not take it."""
        message = {"type": "http.response.body", "body": body, "more_body": more}
        await self._clock.within(STALLED, self._send(message))

    async def beat(self) -> None:
        while True:
            await self._clock.sleep(HEARTBEAT)
            await self.write(self.alive)


class _EventSource(EventStream):
    def __init__(self, hub: Hub, sources: tuple[AsyncIterator[Message], ...]) -> None:
        super().__init__(hub.clock)
        self._sources = sources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.open(send)
        await self.write(b"retry: %d\n\n" % RETRY)
        sources = (self._pass_on(source) for source in self._sources)
        work = [asyncio.create_task(each) for each in (*sources, self.beat(), client_gone(receive))]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            ends = await asyncio.gather(*work, return_exceptions=True)
        if not any(isinstance(end, TimeoutError) for end in ends):
            await self.write(b"", more=False)
        for end in ends:
            if isinstance(end, Exception) and not isinstance(end, TimeoutError):
                _log.error("a stream broke off: %s", scope["path"], exc_info=end)

    async def _pass_on(self, messages: AsyncIterator[Message]) -> None:
        try:
            async for message in messages:
                await self.write(frame(message))
        finally:
            if isinstance(messages, AsyncGenerator):
                await messages.aclose()


async def unless_gone(receive: Receive, answering: Coroutine[Any, Any, T]) -> T | None:
    """The answer; none if the client disconnects first."""
    answer, gone = asyncio.create_task(answering), asyncio.create_task(client_gone(receive))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        answer.cancel()
        gone.cancel()


async def client_gone(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
