"""What the door for OpenAI's clients adds to a request: beside a bare route, and beside the run itself."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench import moot, scenes
from bench.measure import Run, Side, median_of, one_round
from bench.server import REPORT_TEXT
from folkmoot import Folkmoot
from folkmoot.http.server import build_application, run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.protocols.chat import CHAT_ROUTES

AGENT = scenes.CHAIN[-1]
"""It reports at once."""
BODY = {"model": AGENT, "messages": [{"role": "user", "content": scenes.QUESTION}]}
SAID = {"choices": [{"index": 0, "message": {"role": "assistant", "content": REPORT_TEXT}}]}


class Sides(NamedTuple):
    """Each per request."""

    route: Side
    """A route that reads the body and answers with a text, on a uvicorn without anything else."""
    run: Side
    """The agent, run in this process without any server."""
    door: Side
    stream: Side


async def compared(folder: Path, runs: int, rounds: int) -> Sides:
    """Server and client in one process: what the client costs is the same on all sides with a server."""
    async with (
        Folkmoot.open(folder, tools=[moot.look]) as opened,
        _listening(opened) as door,
        _bare() as bare,
        aiohttp.ClientSession() as http,
    ):

        async def ask(address: str, **more: Any) -> str:
            async with http.post(f"{address}v1/chat/completions", json=BODY | more) as answer:
                return (await answer.read()).decode()

        sides: tuple[Run, ...] = (
            lambda: ask(bare),
            lambda: moot.answer(opened, f"{AGENT}.ai"),
            lambda: ask(door),
            lambda: ask(door, stream=True),
        )
        for side in sides:
            if REPORT_TEXT.strip()[:100] not in (said := await side()):
                raise SystemExit(f"this is no answer: {said}")
        measured: tuple[list[Any], ...] = ([], [], [], [])
        for _ in range(rounds):  # in turn, so that a machine that slows down slows all
            for rounds_of, side in zip(measured, sides, strict=True):
                rounds_of.append(await one_round(side, runs))
        return Sides(*map(median_of, measured))


def _listening(moot: Folkmoot) -> AbstractAsyncContextManager[str]:
    house = ServerState(moot=moot, door=ServerOptions(port=0))
    return run_server(house, build_application(house, [CHAT_ROUTES]))


@asynccontextmanager
async def _bare() -> AsyncIterator[str]:
    async def complete(request: Request) -> Response:
        json.loads(await request.body())
        return JSONResponse(SAID)

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    config = uvicorn.Config(
        app, http="h11", log_config=None, log_level="error", access_log=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = asyncio.create_task(server._serve([listener]))  # without its handlers of signals
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            await serving
