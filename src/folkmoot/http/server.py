"""The server: one ASGI application of guard, API, streams and pages, on its address until it stops."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.http import openapi, problems
from folkmoot.http.api.every import OPERATIONS
from folkmoot.http.connections import Config, Connection, Socket
from folkmoot.http.endpoint import route
from folkmoot.http.guard import SIGN_IN_ROUTES, Guard
from folkmoot.http.monitor import SOCKET
from folkmoot.http.pages.every import ROUTES as PAGES
from folkmoot.http.pages.rendering import for_people
from folkmoot.http.state import Door, ServerState

_PATIENCE = 3
"""Seconds for which answers under way are waited for when the server stops."""


def application(house: ServerState, protocols: Sequence[BaseRoute] = ()) -> Starlette:
    """`protocols` are the routes of clients of other protocols; the guard checks their requests too."""
    static = StaticFiles(directory=Path(__file__).parent / "static")
    app = Starlette(
        routes=[
            openapi.ROUTE,
            *map(route, OPERATIONS),
            SOCKET,
            Mount("/static", static, name="static"),
            *SIGN_IN_ROUTES,
            *protocols,
            *PAGES,
        ],
        exception_handlers={
            FolkmootError: for_people(problems.on_folkmoot_error),
            ClientDisconnect: problems.on_disconnect,
            HTTPException: for_people(problems.on_http_error),
            Exception: for_people(problems.on_surprise),
        },
    )
    app.state.house = house
    # Outside of all else: what goes wrong inside is answered with the guard's headers too.
    app.middleware_stack = Guard(app.build_middleware_stack(), house)
    return app


@asynccontextmanager
async def listening(house: ServerState, app: ASGIApp | None = None) -> AsyncIterator[str]:
    """Serve, beside whatever is done within; the address. Raises `OperationFailed` if that is taken.

    `app` is the application of this house, if somebody has added something to it.
    """
    allow_files(2 * house.door.limits.connections)
    with _bound(house.door) as listener:
        server = Server(house, app)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.ready.wait()
            gc.freeze()  # what is loaded stays; looking through it for garbage would hold up every request
            yield _address(house.door, listener)
        finally:
            gc.unfreeze()
            server.should_exit = True
            await serving


def allow_files(wanted: int) -> None:
    """A connection is an open file, and systems allow few of them unless they are asked."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  # not every system has it

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Server(uvicorn.Server):
    def __init__(self, house: ServerState, app: ASGIApp | None = None) -> None:
        super().__init__(_config(house, app or application(house)))
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


def _config(house: ServerState, app: ASGIApp) -> Config:
    door, limits = house.door, house.door.limits
    config = Config(
        app,
        host=door.host,
        port=door.port,
        http=Connection,
        ws=Socket,
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


def _bound(door: Door) -> socket.socket:
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


def _address(door: Door, listener: socket.socket) -> str:
    name = f"[{door.host}]" if ":" in door.host else door.host
    return f"http://{name}:{listener.getsockname()[1]}/"
