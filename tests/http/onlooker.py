"""A server in this process on a real socket, and clients of its streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from starlette.applications import Starlette

from folkmoot.http.server import build_application, run_server
from folkmoot.http.state import ServerOptions, ServerState

PATIENCE = 60.0
"""Seconds, for what comes over a socket or not at all."""


@dataclass
class Event:
    """What a browser would hand to its listener."""

    event: str
    data: Any
    id: int | None = None


class Visitor:
    """Whoever looks at a house from outside."""

    def __init__(self, house: ServerState, app: Starlette, client: aiohttp.ClientSession) -> None:
        self.house = house
        self.app = app
        self.client = client

    @asynccontextmanager
    async def stream(self, path: str, last: int | str = "") -> AsyncIterator[Stream]:
        headers = {"Last-Event-ID": str(last)} if last != "" else {}
        async with self.client.get(path, headers=headers) as response:
            stream = Stream(response)
            if response.content_type == "text/event-stream":
                stream.hint = await stream.line()
                await stream.line()
            yield stream

    @asynccontextmanager
    async def socket(self, path: str = "/ws") -> AsyncIterator[Socket]:
        async with self.client.ws_connect(path) as socket:
            yield Socket(socket)


class Stream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.hint = ""

    async def line(self) -> str:
        async with asyncio.timeout(PATIENCE):
            return (await self.response.content.readline()).decode().rstrip("\n")

    async def next(self) -> Event | None:
        """None at the end of the stream."""
        fields: dict[str, list[str]] = {}
        while line := await self.line():
            name, _, value = line.partition(": ")
            fields.setdefault(name, []).append(value)
        if not fields:
            assert self.response.content.at_eof()
            return None
        data = "\n".join(fields["data"])
        parsed = json.loads(data) if data.startswith("{") else data
        return Event(fields["event"][0], parsed, int(fields["id"][0]) if "id" in fields else None)

    async def take(self, count: int) -> list[Event]:
        return [event for _ in range(count) if (event := await self.next())]

    async def until(self, type: str) -> list[Event]:
        """What comes up to the next event of this type, with it."""
        events = await self.take(1)
        while events[-1].event != type:
            events += await self.take(1)
        return events

    async def rest(self) -> list[Event]:
        events = []
        while event := await self.next():
            events.append(event)
        return events


class Socket:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def next(self) -> dict[str, Any]:
        return await self.socket.receive_json(timeout=PATIENCE)

    async def until(self, type: str) -> dict[str, Any]:
        while (message := await self.next())["type"] != type:
            pass
        return message

    async def say(self, **message: Any) -> None:
        await self.socket.send_json(message)


@asynccontextmanager
async def visited(moot) -> AsyncIterator[Visitor]:
    house = ServerState(moot=moot, door=ServerOptions(port=0))
    app = build_application(house)
    async with run_server(house, app) as address, aiohttp.ClientSession(address) as client:
        yield Visitor(house, app, client)
