"""A provider on loopback that does exactly what a test tells it, byte by byte, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from folkmoot.domain.agent import ModelChoice, Tuning
from folkmoot.domain.budget import FREE
from folkmoot.domain.message import Message, ToolCall, ToolSpec
from folkmoot.domain.settings import Provider
from folkmoot.models.choose import ProviderModels
from folkmoot.ports import Model, Request

KEY = "secret-key-4711"
TALK = (Message("system", "You are kind."), Message("user", "How are you?"))
LOOK = ToolSpec("look", "Looks something up.", {"type": "object", "properties": {"what": {"type": "string"}}})


class Do(Enum):
    HANG = "wait until the client gives up"
    CLOSE = "close the connection"
    RESET = "tear the connection down"


Play = list[bytes | Do]


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass
class FakeProvider:
    """Each request is answered by the next of `plays`; the last one is repeated."""

    plays: list[Play] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    arrivals: asyncio.Queue[Asked] = field(default_factory=asyncio.Queue)
    """The same, for who waits for them."""
    connections: int = 0
    port: int = 0
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> FakeProvider:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        raw = await reader.readexactly(int(headers["content-length"]))
        play = self.plays[min(len(self.asked), len(self.plays) - 1)]
        self.asked.append(Asked(first.split()[1], headers, raw))
        self.arrivals.put_nowait(self.asked[-1])
        for step in play:
            match step:
                case Do.HANG:
                    self.hanging.set()
                    await reader.read()
                    return False
                case Do.CLOSE:
                    return False
                case Do.RESET:
                    writer.transport.abort()
                    return False
                case bytes():
                    writer.write(step)
                    await writer.drain()
        return True


def answered(body: object, status: int = 200, **headers: str) -> Play:
    """A response in one piece; `retry_after="3"` becomes the header `retry-after: 3`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", "content-length": str(len(raw))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return [f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + raw]


STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(data: object) -> bytes:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return b"data: " + raw + b"\n\n"


def streamed(*events: object, end: bool = True) -> Play:
    chunks = [chunk(event(data)) for data in events]
    return [STREAM, b"".join(chunks), *([b"0\r\n\r\n"] if end else [])]


DEFAULTS: dict[str, Any] = {
    "model": "gpt-x", "messages": TALK, "tools": (), "max_output": 500,
    "agent": "a", "session": "s-1", "turn": 1, "attempt": 1, "contents": {},
}  # fmt: skip


def asking(**given: Any) -> Request:
    """A request; what is no field of it belongs to its tuning."""
    fields = {name: given.pop(name, default) for name, default in DEFAULTS.items()}
    return Request(**fields, tuning=Tuning(**{"llm_timeout": 20.0, **given}))


def adapter(models: ProviderModels, name: str = "fake") -> Model:
    return models.choose(ModelChoice(name, "any", 1000, FREE))


def fake_models(port: int, kind: str = "openai", **more: Any) -> ProviderModels:
    provider = Provider(kind, base_url=f"http://127.0.0.1:{port}/v1", api_key_env="FAKE_KEY", **more)
    return ProviderModels({"fake": provider}, {"FAKE_KEY": KEY}, Path())


def call(id: str, tool: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(id, tool, arguments)


def turns(calls: int = 2) -> Iterator[tuple[int, tuple[Message, ...]]]:
    """A conversation as it grows over three turns, with so many calls in each."""
    talk: tuple[Message, ...] = TALK
    for turn in (1, 2, 3):
        yield turn, talk
        made = tuple(call(f"c{turn}-{number}", "look") for number in range(calls))
        found = (Message("tool", f"found {one.id}", answers=one.id) for one in made)
        talk = (*talk, Message("assistant", "", made), *found)
