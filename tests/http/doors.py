"""A server in this process, and clients that may say whatever they like."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from folkmoot.http.server import build_application, run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.protocols.chat import CHAT_ROUTES
from tests.desk import Desk

TOKEN = "a-token-that-nobody-guesses"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==",
}


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def detail(self) -> str:
        return msgspec.json.decode(self.body)["detail"]


class Client:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def address(self) -> tuple[str, int]:
        """Where the connection comes from, as the server sees it."""
        address: tuple[str, int] = self._writer.get_extra_info("sockname")
        return address

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()

    async def answer(self) -> Answer:
        """Its head, and as much of its body as it says it has."""
        said = await self.head()
        said.body = await self._reader.readexactly(int(said.headers.get("content-length", 0)))
        return said

    async def head(self) -> Answer:
        """That alone: to HEAD nothing else comes."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        pairs = [line.split(": ", 1) for line in head[1:-1]]
        return Answer(int(head[0].split()[1]), {name.lower(): value for name, value in pairs})

    async def rest(self) -> bytes:
        """Whatever comes until the server closes."""
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""

    async def until(self, words: bytes) -> bytes:
        return await self._reader.readuntil(words)

    async def frame(self) -> bytes:
        """A short frame of the server, without its first two bytes."""
        _, length = await self._reader.readexactly(2)
        return await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


@dataclass
class Served:
    house: ServerState
    address: str

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port
        return port

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        client = Client(*await asyncio.open_connection(urlsplit(self.address).hostname, self.port))
        try:
            yield client
        finally:
            client.close()

    async def ask(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", body: bytes = b""
    ) -> Answer:
        async with self.connected() as client:
            await client.send(request(path, {**self.known, **(headers or {})}, method=method, body=body))
            return await client.answer()

    @property
    def known(self) -> dict[str, str]:
        return {"Host": f"127.0.0.1:{self.port}"}


def request(path: str, headers: Mapping[str, str], *, method: str = "GET", body: bytes = b"") -> bytes:
    length = {"Content-Length": str(len(body))} if body else {}
    lines = [f"{name}: {value}\r\n" for name, value in {**length, **headers}.items()]
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + body


async def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0)


def frame(text: bytes, opcode: int = 1) -> bytes:
    """Of a client: masked, with zeros."""
    return bytes([0x80 | opcode, 0x80 | len(text), 0, 0, 0, 0]) + text


async def _echo(socket: WebSocket) -> None:
    await socket.accept()
    async for text in socket.iter_text():
        await socket.send_text(text)


async def _events(request: Request) -> Response:
    async def ticks() -> AsyncIterator[str]:
        yield "data: begun\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(ticks(), media_type="text/event-stream")


async def _fail(request: Request) -> Response:
    raise RuntimeError("a fault of ours")


async def _read(request: Request) -> Response:
    return Response(str(len(await request.body())))


STREAMS: tuple[BaseRoute, ...] = (
    WebSocketRoute("/echo", _echo),
    Route("/events-for-ever", _events),
    Route("/fault", _fail),
    Route("/read", _read, methods=["POST"]),
)


@asynccontextmanager
async def serving(
    desk: Desk, door: ServerOptions = ServerOptions(port=0), routes: Sequence[BaseRoute] = STREAMS
) -> AsyncIterator[Served]:
    """With further routes that a guard has to look after."""

    async with desk.open() as moot:
        house = ServerState(moot=moot, door=door)
        app = build_application(house, [CHAT_ROUTES])
        app.router.routes.extend(routes)
        async with run_server(house, app) as address:
            yield Served(house, address)
