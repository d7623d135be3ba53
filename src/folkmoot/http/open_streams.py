"""Answers that go on, server-sent events and sockets: ended when the token changes and when the server stops."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class OpenStreams:
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

        async def sending(message: Message) -> None:
            await send(message)
            if _goes_on(message):
                self._open.add(task)
                if self._stopped:
                    self.close()

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:
            if task not in self._closing:
                raise
            task.uncancel()
            await send(_end(scope))
        finally:
            self._open.discard(task)
            self._closing.discard(task)


def _goes_on(message: Message) -> bool:
    if message["type"] == "http.response.start":
        return Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
    return bool(message["type"] == "websocket.accept")


def _end(scope: Scope) -> Message:
    if scope["type"] == "websocket":
        return {"type": "websocket.close", "code": 1012, "reason": "come again"}
    return {"type": "http.response.body", "body": b"", "more_body": False}
