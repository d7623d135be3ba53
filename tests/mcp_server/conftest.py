"""A project behind the door, and the official client before it: over pipes and over HTTP, in both generations."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, ElicitResult

from folkmoot import Folkmoot
from folkmoot.cli.main import main
from folkmoot.protocols.mcp import ABOUT, mcp_app

PROGRAM = ("-c", "import sys; from folkmoot.cli.main import main; sys.exit(main())")
SETTINGS = """
providers: {s: {kind: scripted, script: script.yaml, price: {input: 1, output: 2}, contextWindow: 32000}}
models: {default: s/demo}
tools: {till: {kind: python, module: till.py}}
"""
TILL = '''
"""The till, with a loud drawer."""

import os
import subprocess

from folkmoot import tool

print("the till is loaded")


@tool(effect="pure", access="read")
def count() -> int:
    """What is in it."""
    print("printed by a tool")
    os.write(1, b"written by a tool")
    subprocess.run(["echo", "printed by a child"], check=True)
    return 3


@tool(asks="medium")
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"
'''
AGENTS = {
    "clerk": "description: Knows the till.\nusage: Ask how much is in it.\ntools: [till.count]",
    "payer": "description: Pays.\ntools: [till.pay]",
    "asker": "description: Asks back.\ntools: [ask_user]",
    "doubler": "input: {format: json, schema: {type: object, properties: {n: {type: integer}}, required: [n]}}\n"
    "output: {format: json, schema: {type: object, properties: {twice: {type: integer}}, required: [twice]}}",
    "slow": "description: Takes its time.",
    "pair": "description: Speaks only when both are there.",
    "front": "description: Hands over.\nhandoff: broken.ai",
    "broken": "description: Never answers.",
}
SCRIPT: dict[str, Any] = {
    "clerk": [{"calls": [{"tool": "till.count"}]}, {"report": "There are three."}],
    "payer": [{"calls": [{"tool": "till.pay", "arguments": {"to": "ann\u200b"}}]}, {"report": "So be it."}],
    "asker": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]},
        {"report": "Thanks."},
    ],
    "doubler": [{"report": {"twice": 4}}],
    "slow": [{"report": "never said", "barrier": "nobody comes/2"}],
    "pair": [{"report": "Both are here.", "barrier": "both/2"}],
    "front": [{"report": "ready"}],
    "broken": [{"error": {"message": "the line is dead", "retryable": False}}],
}


def write(folder: Path, agents: Mapping[str, str] = AGENTS, script: Mapping[str, Any] = SCRIPT) -> Path:
    (folder / "folkmoot.yaml").write_text(SETTINGS)
    (folder / "script.yaml").write_text(yaml.safe_dump({"agents": dict(script)}))
    (folder / "till.py").write_text(TILL)
    for name, frontmatter in agents.items():
        (folder / f"{name}.ai").write_text(f"---\n{frontmatter}\n---\nYou are {name}.\n")
    assert main(["--project", str(folder), "trust", "--yes"]) == 0
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "shop"
    folder.mkdir()
    return write(folder)


@dataclass
class Person:
    """Who sits at the client: says what they are told to, and remembers what they were shown."""

    says: list[ElicitResult] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.shown.append(params.message)
        return self.says[len(self.shown) - 1]


def said(action: Any, **content: str) -> ElicitResult:
    return ElicitResult(action=action, content=dict(content) or None)


def text(result: CallToolResult) -> str:
    return result.content[0].text


def about(result: CallToolResult) -> dict[str, Any]:
    return (result.meta or {})[ABOUT]


@asynccontextmanager
async def over_pipes(folder: Path, *arguments: str, **client: Any) -> AsyncIterator[Client]:
    command = [*PROGRAM, "--project", str(folder), "mcp", *arguments]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    with (folder / "stderr").open("w") as stderr:
        async with Client(stdio_client(server, errlog=stderr), **client) as connected:
            yield connected


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """A real server on loopback; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="critical", lifespan="on", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listening]))
        while not server.started:
            assert not serving.done(), "it ended before it listened"
            await asyncio.sleep(0)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = server.force_exit = True
            await serving


@asynccontextmanager
async def over_http(folder: Path, **client: Any) -> AsyncIterator[Client]:
    async with (
        Folkmoot.open(folder) as moot,
        served(mcp_app(moot)) as address,
        Client(address, **client) as connected,
    ):
        yield connected


DOORS = {"pipes": over_pipes, "http": over_http}
GENERATIONS = {"2025": "legacy", "2026": "2026-07-28"}


def _connecting(door: str, year: str, project: Path):
    def connected(person: Person | None = None):
        return DOORS[door](project, mode=GENERATIONS[year], elicitation_callback=person)

    return connected


@pytest.fixture(params=[(door, year) for door in DOORS for year in GENERATIONS], ids="-".join)
def connect(request, project):
    """`async with connect(person) as client:`; without a person, the client offers no elicitation."""
    return _connecting(*request.param, project)


@pytest.fixture(params=GENERATIONS)
def connect_quickly(request, project):
    """The same over HTTP alone, where no process has to start: for what has nothing to do with the way there."""
    return _connecting("http", request.param, project)
