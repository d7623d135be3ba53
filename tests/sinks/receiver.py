"""The other side of a sink, on loopback: answers as a test tells it and remembers what came."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from folkmoot import FakeClock
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.plan import StepStarted
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.sinking import ConfiguredSink, SinkFeeder
from folkmoot.ports import Journal, Query, Sink, Version

PATIENCE = 60.0
"""Seconds, for what comes over a socket or not at all."""


@dataclass
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def titles(self) -> list[str]:
        return [embed["title"] for embed in self.json["embeds"]]


@dataclass
class Answer:
    status: int = 204
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: asyncio.Event | None = None
    """It is given only when this has happened."""


class Receiver:
    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        """Each is given once; after the last all is well."""
        self.received: list[Received] = []
        self._coming: asyncio.Queue[Received] = asyncio.Queue()

    async def __aenter__(self) -> Receiver:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/hook/token"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def next(self) -> Received:
        async with asyncio.timeout(PATIENCE):
            return await self._coming.get()

    @property
    def waiting(self) -> int:
        """How many came that nobody has looked at."""
        return self._coming.qsize()

    async def _answer(self, request: web.Request) -> web.Response:
        came = Received(request.method, request.path_qs, dict(request.headers), await request.read())
        self.received.append(came)
        self._coming.put_nowait(came)
        answer = self.answers.pop(0) if self.answers else Answer()
        if answer.after:
            await answer.after.wait()
        return web.Response(status=answer.status, text=answer.body or None, headers=answer.headers)


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and that nobody can take meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hook/token"


def steps(first: int, last: int) -> list[StepStarted]:
    return [StepStarted("plan_1", f"s{number}") for number in range(first, last + 1)]


async def happen(
    journal: Journal,
    *events: Event,
    agent: str = "coder",
    stream: str = "work_1",
    clock: FakeClock | None = None,
) -> list[Entry]:
    """These, one after another, in a stream of their own."""
    version = len([entry async for entry in journal.read(Query(stream=stream))])
    now = (clock or FakeClock()).now()
    return list(
        await journal.append(
            stream, Version(version), [Draft(now, event, agent_id=agent) for event in events]
        )
    )


async def noted(journal: Journal, type: str, times: int = 1) -> list[Any]:
    """The events of this type, as soon as there are so many."""
    found: list[Any] = []
    async with asyncio.timeout(PATIENCE):
        async for entry in journal.follow():
            if entry.event.type == type:
                found.append(entry.event)
                if len(found) == times:
                    return found
    raise AssertionError


def feeding(
    journal: Journal, clock: FakeClock, sink: Sink, settings: SinkSettings, name: str = "chat"
) -> SinkFeeder:
    return SinkFeeder(journal, clock, [ConfiguredSink(name, settings, sink)])
