"""A project behind a real server in this process, and a program that talks to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from folkmoot import Folkmoot, ScriptedModel, Surroundings
from folkmoot.http.server import run_server
from folkmoot.http.state import ServerOptions, ServerState
from tests.desk import write
from tests.fakes import fake

FILES = {
    "desk": "description: Answers.",
    "clerk": "tools: [pay, ask_user]\nrole: specialist\ncapabilities: [money]",
    "boss": "role: lead",
    "slow": "tools: [work]",
}
PAY = {"calls": [{"tool": "pay", "arguments": {"to": "ann"}}]}
SCRIPT = {
    "desk": ["Hello."],
    "clerk": {
        "rules": [
            {"when": "ask", "calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]},
            {"when": "pay", **PAY},
        ],
        "default": {"report": "done"},
    },
    "boss": ["Fine."],
    "slow": [{"calls": [{"tool": "work"}]}, "Done."],
}


pay = fake("pay(to)", "paid {to}", access="write", asks="high")


class Bench:
    """A tool that takes as long as the test wants."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.tool = fake("work", "worked", does=self.go_on.wait)
        self.busy = self.tool.reached


@dataclass
class Answer:
    status: int
    headers: Any
    text: str
    json: Any


class Client:
    def __init__(self, house: ServerState, base: str, session: aiohttp.ClientSession, bench: Bench) -> None:
        self.house = house
        self.moot = house.moot
        self.base = base
        self.session = session
        self.bench = bench

    async def ask(self, method: str, path: str, **how: Any) -> Answer:
        async with self.session.request(method, f"{self.base}{path}", **how) as response:
            text = await response.text()
            is_json = response.content_type in ("application/json", "application/problem+json")
            json = await response.json(content_type=None) if is_json else None
            return Answer(response.status, response.headers, text, json)

    async def get(self, path: str, status: int = 200, /, **query: Any) -> Any:
        answer = await self.ask("GET", path, params=query)
        assert answer.status == status, answer.text
        return answer.json

    async def post(self, path: str, status: int = 200, /, *, key: str = "", **body: Any) -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        answer = await self.ask("POST", path, json=body, headers=headers)
        assert answer.status == status, answer.text
        return answer.json

    async def ended(self, run: str) -> dict[str, Any]:
        """A run that has gone on in the server, when it has ended or waits."""
        if task := self.house.room.task(run):
            await asyncio.wait([task])
        shown: dict[str, Any] = await self.get(f"/api/runs/{run}")
        return shown


@asynccontextmanager
async def served(folder: Path, **door: Any) -> AsyncIterator[Client]:
    bench = Bench()
    if not (folder / "folkmoot.yaml").exists():
        write(folder, FILES)
    opened = Folkmoot.open(
        folder,
        tools=[pay, bench.tool],
        models={"scripted": ScriptedModel(SCRIPT)},
        around=Surroundings(env={}),
    )
    async with opened as moot:
        house = ServerState(moot=moot, door=ServerOptions(port=0, **door))
        async with run_server(house) as base, aiohttp.ClientSession() as session:
            yield Client(house, base.rstrip("/"), session, bench)
        await house.carrying.close()
        house.room.leave_at_once()
        await house.room.close()
