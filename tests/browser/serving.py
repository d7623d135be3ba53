"""A project served on a free port of this machine, in the loop of whoever looks at it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from folkmoot import Folkmoot
from folkmoot.http.server import build_application
from folkmoot.http.state import ServerOptions, ServerState


@asynccontextmanager
async def serving(moot: Folkmoot) -> AsyncIterator[str]:
    """The address of its page, for as long as the block lasts."""
    house = ServerState(moot=moot, door=ServerOptions())
    async with listening(build_application(house)) as home:
        yield home
    await house.carrying.close()


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([door]))
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
