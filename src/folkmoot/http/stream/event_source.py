"""Answers that go on: server-sent events, with signs of life in between, until the client goes or they are ended."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from folkmoot.domain.value import Value
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


class SseMessage(Value):
    event: str
    data: str | bytes
    id: int = 0
    """Where a client goes on that comes back: the `seq` of an entry. 0: this cannot be had again."""


def encode_sse(message: SseMessage) -> bytes:
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


class EventSource(EventStream):
    """All messages as they come; it ends with the first source that ends."""

    def __init__(self, clock: Clock, *sources: AsyncIterator[SseMessage]) -> None:
        super().__init__(clock)
        self._sources = sources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.open(send)
        await self.write(b"retry: %d\n\n" % RETRY)
        sources = (self._pass_on(source) for source in self._sources)
        ends = await wait_for_first(*sources, self.beat(), wait_for_disconnect(receive))
        if not any(isinstance(end, TimeoutError) for end in ends):
            await self.write(b"", more=False)
        for end in ends:
            if isinstance(end, Exception) and not isinstance(end, TimeoutError):
                _log.error("a stream broke off: %s", scope["path"], exc_info=end)

    async def _pass_on(self, messages: AsyncIterator[SseMessage]) -> None:
        try:
            async for message in messages:
                await self.write(encode_sse(message))
        finally:
            if isinstance(messages, AsyncGenerator):
                await messages.aclose()


async def wait_for_first(*work: Coroutine[Any, Any, T]) -> list[T | BaseException]:
    """What came of each when the first is done; the others are cancelled then."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    return ends


async def run_while_connected(receive: Receive, answering: Coroutine[Any, Any, T]) -> T | None:
    """The answer; none if the client disconnects first."""
    answer, _ = await wait_for_first(answering, wait_for_disconnect(receive))
    if isinstance(answer, asyncio.CancelledError):
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


class OpenStreams:
    """Server-sent events and sockets, ended when the token changes and when the server stops."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[object]] = set()
        self._closing: set[asyncio.Task[object]] = set()
        self._stopped = False

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End every one: a client that comes back has to be let in anew."""
        for task in self._open - self._closing:
            self._closing.add(task)
            task.cancel()

    def stop(self) -> None:
        """End every one, and those too that still begin."""
        self._stopped = True
        self.close()

    async def through(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request be answered; if that becomes a stream, it can be ended from here."""
        task = asyncio.current_task()
        assert task is not None

        async def sending(message: AsgiMessage) -> None:
            await send(message)
            if _is_stream_start(message):
                self._open.add(task)
                if self._stopped:
                    self.close()

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:
            if task not in self._closing:
                raise
            task.uncancel()
            await send(_build_end_message(scope))
        finally:
            self._open.discard(task)
            self._closing.discard(task)


def _is_stream_start(message: AsgiMessage) -> bool:
    if message["type"] == "http.response.start":
        return Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
    return bool(message["type"] == "websocket.accept")


def _build_end_message(scope: Scope) -> AsgiMessage:
    if scope["type"] == "websocket":
        return {"type": "websocket.close", "code": 1012, "reason": "come again"}
    return {"type": "http.response.body", "body": b"", "more_body": False}
