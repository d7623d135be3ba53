"""Connections as they come in: how many there may be, how long a request may take to arrive, what a socket may send.

uvicorn has no limits of these kinds; its protocols are extended here, and nowhere else.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from folkmoot.http import problems
from folkmoot.http.guard import HEADERS
from folkmoot.http.state import ServerState


class Config(uvicorn.Config):
    house: ServerState


class _StrictBuffer(ReceiveBuffer):
    """h11 also takes lines that end with LF alone and headers that go on in the next line; a proxy before this server
    may read them otherwise, and so let one request be taken for two."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        before = bytes(self)
        lines = super().maybe_extract_lines()
        if lines is not None and _LOOSE.search(before, 0, len(before) - len(self)):
            raise h11.RemoteProtocolError("a line that does not end with CRLF, or a header that is folded")
        return lines


_LOOSE = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")


class Connection(H11Protocol):
    config: Config

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        self._stage = ""
        self._timer: asyncio.TimerHandle | None = None
        self._refused = not self.config.house.connections.admit(transport, address_of(transport), self)
        if self._refused:
            self.transport = transport
            self._answer(503, "too many connections are open; come later")
            return
        self.conn._receive_buffer = _StrictBuffer()
        super().connection_made(transport)
        self._keep_time()

    @property
    def is_idle(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def give_way(self) -> None:
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.house.connections.leave(self.transport)
        self._stop_timer()
        if not self._refused:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._keep_time()

    def send_400_response(self, msg: str) -> None:
        """Of what is no HTTP, or has more headers than are read."""
        self.config.house.refusals.note("no HTTP", address_of(self.transport), msg)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(
                400, "this is no HTTP request, or its headers are too long, folded, or do not end with CRLF"
            )
        else:
            self.transport.close()

    def _keep_time(self) -> None:
        """The time for a part of a request runs from its first byte, and no further byte prolongs it."""
        stages = {h11.IDLE: "head", h11.SEND_BODY: "body"}
        stage = stages.get(self.conn.their_state, "")
        if stage == self._stage:
            return
        self._stop_timer()
        self._stage = stage
        if stage:
            limits = self.config.house.door.limits
            seconds = limits.head_time if stage == "head" else limits.body_time
            self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _too_slow(self) -> None:
        refusals, address = self.config.house.refusals, address_of(self.transport)
        refusals.note("too slow", address, f"the {self._stage} of a request did not come to its end")
        if self._stage == "head":
            self._answer(408, "the request did not come in time")
        else:
            self.transport.close()

    def _answer(self, status: int, words: str) -> None:
        """Beside the application, which has not seen the request."""
        said = problems.response(status, words, {**HEADERS, "connection": "close"})
        head = [b"HTTP/1.1 %d Refused" % status, *(b"%b: %b" % pair for pair in said.raw_headers)]
        self.transport.write(b"\r\n".join([*head, b"", bytes(said.body)]))
        self.transport.close()


class Socket(WebSocketsSansIOProtocol):
    config: Config

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # what uvicorn gives, passed on
        self._second = 0.0
        self._frames = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.house.connections.leave(self.transport)
        super().connection_lost(exc)

    async def send(self, message: Any) -> None:
        """uvicorn forgets that a refusal ends the handshake, and complains of each one."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True

    def handle_events(self) -> None:
        """Pings and empty frames count too: each costs an answer, or a turn of the loop."""
        if self.loop.time() - self._second >= 1:
            self._second, self._frames = self.loop.time(), 0
        self._frames += len(self.conn.events)
        if self._frames > self.config.house.door.limits.messages:
            self.config.house.refusals.note(
                "flood", address_of(self.transport), f"{self._frames} frames in a second"
            )
            self.conn.events_received()
            self.conn.fail(1008, "too many messages")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
        else:
            super().handle_events()


def address_of(transport: asyncio.BaseTransport) -> str:
    remote = get_remote_addr(transport)  # type: ignore[arg-type]  # as in uvicorn
    return remote[0] if remote else ""
