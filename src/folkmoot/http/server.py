"""The server: one ASGI application of guard, API, streams and pages, on its address until it stops.

uvicorn limits neither the number of connections nor how long a request may take to arrive: its protocols are extended
here.
"""

from __future__ import annotations

import asyncio
import gc
import re
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.http import openapi, problems
from folkmoot.http.api import OPERATIONS
from folkmoot.http.endpoint import make_route
from folkmoot.http.guard import HEADERS, SIGN_IN_ROUTES, HttpGuard
from folkmoot.http.monitor import SOCKET
from folkmoot.http.pages import ROUTES as PAGES
from folkmoot.http.pages.rendering import with_error_pages
from folkmoot.http.state import ServerOptions, ServerState

_PATIENCE = 3
"""Seconds for which answers under way are waited for when the server stops."""


def build_application(house: ServerState, protocols: Sequence[BaseRoute] = ()) -> Starlette:
    """`protocols` are the routes of clients of other protocols; the guard checks their requests too."""
    static = StaticFiles(directory=Path(__file__).parent / "static")
    app = Starlette(
        routes=[
            openapi.ROUTE,
            *map(make_route, OPERATIONS),
            SOCKET,
            Mount("/static", static, name="static"),
            *SIGN_IN_ROUTES,
            *protocols,
            *PAGES,
        ],
        exception_handlers={
            FolkmootError: with_error_pages(problems.on_folkmoot_error),
            ClientDisconnect: problems.on_disconnect,
            HTTPException: with_error_pages(problems.on_http_error),
            Exception: with_error_pages(problems.on_unexpected_error),
        },
    )
    app.state.house = house
    # Outside of all else: what goes wrong inside is answered with the guard's headers too.
    app.middleware_stack = HttpGuard(app.build_middleware_stack(), house)
    return app


@asynccontextmanager
async def run_server(house: ServerState, app: ASGIApp | None = None) -> AsyncIterator[str]:
    """Serve, beside whatever is done within; the address. Raises `OperationFailed` if that is taken.

    `app` is the application of this house, if somebody has added something to it.
    """
    raise_file_limit(2 * house.door.limits.connections)
    with _bind_socket(house.door) as listener:
        server = HttpServer(house, app)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.ready.wait()
            gc.freeze()  # what is loaded stays; looking through it for garbage would hold up every request
            yield _server_url(house.door, listener)
        finally:
            gc.unfreeze()
            server.should_exit = True
            await serving


def raise_file_limit(wanted: int) -> None:
    """A connection is an open file, and systems allow few of them unless they are asked."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  # not every system has it

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class HttpServer(uvicorn.Server):
    def __init__(self, house: ServerState, app: ASGIApp | None = None) -> None:
        super().__init__(_build_config(house, app or build_application(house)))
        self._house = house
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are the business of the program, not of a part of it."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams have no end of their own that could be waited for."""
        self._house.streams.stop()
        await super().shutdown(sockets)


def _build_config(house: ServerState, app: ASGIApp) -> UvicornConfig:
    door, limits = house.door, house.door.limits
    config = UvicornConfig(
        app,
        host=door.host,
        port=door.port,
        http=LimitedHttpProtocol,
        ws=LimitedWebSocketProtocol,
        ws_max_size=limits.message,
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=limits.head,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=_PATIENCE,
        proxy_headers=bool(door.proxies),
        forwarded_allow_ips=list(door.proxies),
        log_config=None,
        log_level="error",  # of what is refused, the guard tells
        access_log=False,
        server_header=False,
        lifespan="off",
    )
    config.house = house
    return config


def _bind_socket(door: ServerOptions) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=512)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0]  # Python puts the address there once more
        raise OperationFailed(
            f"cannot listen on {door.host}:{door.port}: {why};"
            " choose another with --port, or --port 0 for any that is free",
            code="address_taken",
        ) from error
    # What is accepted inherits it; asyncio sets it for listeners of its own only.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _server_url(door: ServerOptions, listener: socket.socket) -> str:
    name = f"[{door.host}]" if ":" in door.host else door.host
    return f"http://{name}:{listener.getsockname()[1]}/"


class UvicornConfig(uvicorn.Config):
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


class LimitedHttpProtocol(H11Protocol):
    config: UvicornConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        self._stage = ""
        self._timer: asyncio.TimerHandle | None = None
        self._refused = not self.config.house.connections.admit(transport, remote_address(transport), self)
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
        self.config.house.refusals.note("no HTTP", remote_address(self.transport), msg)
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
        refusals, address = self.config.house.refusals, remote_address(self.transport)
        refusals.note("too slow", address, f"the {self._stage} of a request did not come to its end")
        if self._stage == "head":
            self._answer(408, "the request did not come in time")
        else:
            self.transport.close()

    def _answer(self, status: int, words: str) -> None:
        """Beside the application, which has not seen the request."""
        said = problems.problem_response(status, words, {**HEADERS, "connection": "close"})
        head = [b"HTTP/1.1 %d Refused" % status, *(b"%b: %b" % pair for pair in said.raw_headers)]
        self.transport.write(b"\r\n".join([*head, b"", bytes(said.body)]))
        self.transport.close()


class LimitedWebSocketProtocol(WebSocketsSansIOProtocol):
    config: UvicornConfig

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
                "flood", remote_address(self.transport), f"{self._frames} frames in a second"
            )
            self.conn.events_received()
            self.conn.fail(1008, "too many messages")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
        else:
            super().handle_events()


def remote_address(transport: asyncio.BaseTransport) -> str:
    remote = get_remote_addr(transport)  # type: ignore[arg-type]  # as in uvicorn
    return remote[0] if remote else ""
