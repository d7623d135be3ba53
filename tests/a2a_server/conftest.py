"""A project behind the door of a real `folkmoot serve`, and the official client before it."""

import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, Task, TaskState

from folkmoot import Folkmoot
from folkmoot.http.server import build_application, run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.protocols.a2a import a2a_routes
from tests.cli.conftest import PROGRAM, wait_for
from tests.ports import free_port

SETTINGS = """
providers: {s: {kind: scripted, script: script.yaml, price: {input: 1, output: 2}, contextWindow: 32000}}
models: {default: s/demo}
rules: [{tool: files.write, decision: ask}]
"""
AGENTS = {
    "clerk": "description: Knows the till.\nusage: Ask how much is in it.\ncapabilities: [counting]\nhandoff: editor.ai",
    "editor": "description: Writes letters.\noutput: {format: markdown}",
    "scribe": "description: Writes down.\ntools: [files.write]",
    "fetcher": "description: Gets pages.\ntools: [web.fetch]",
    "asker": "description: Asks back.\ntools: [ask_user]",
    "doubler": "input: {format: json, schema: {type: object, properties: {n: {type: integer}}, required: [n]}}\n"
    "output: {format: json, schema: {type: object, properties: {twice: {type: integer}}, required: [twice]}}",
    "slow": "description: Takes its time.",
    "pair": "description: Speaks only when both are there.",
    "broken": "description: Never answers.",
}
SCRIPT: dict[str, Any] = {
    "clerk": [{"report": "There are three."}],
    "editor": [{"report": "Dear customer, there are **three**."}],
    "scribe": [
        {"calls": [{"tool": "files.write", "arguments": {"path": "a.txt", "content": "ann"}}]},
        {"report": "So be it."},
    ],
    "fetcher": [
        {"calls": [{"tool": "web.fetch", "arguments": {"url": "http://127.0.0.1:1/"}}]},
        {"report": "It is empty."},
    ],
    "asker": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]},
        {"report": "That one."},
    ],
    "doubler": [{"report": {"twice": 4}}],
    "slow": [{"report": "never said", "barrier": "nobody comes/99"}],
    "pair": [{"report": "Both are here.", "barrier": "both/2"}],
    "broken": [{"error": {"message": "the line is dead", "retryable": False}}],
}


def write(folder: Path, agents: dict[str, str] = AGENTS, script: dict[str, Any] = SCRIPT) -> Path:
    folder.mkdir()
    (folder / "folkmoot.yaml").write_text(SETTINGS)
    (folder / "script.yaml").write_text(yaml.safe_dump({"agents": script}))
    for name, frontmatter in agents.items():
        (folder / f"{name}.ai").write_text(f"---\n{frontmatter}\n---\nYou are {name}.\n")
    return folder


class Server:
    """`folkmoot serve` as a process, which may be killed and started again at the same address."""

    def __init__(self, folder: Path, *arguments: str, **env: str) -> None:
        self.folder = folder
        self._arguments = arguments
        self._env = {**os.environ, **env}
        self.address = self._start(str(free_port()))

    def read(self, path: str) -> Any:
        """What its API says."""
        return httpx.get(f"{self.address}/api/{path}", timeout=60).raise_for_status().json()

    def post(self, path: str) -> None:
        httpx.post(f"{self.address}/api/{path}", json={}, timeout=60).raise_for_status()

    def _start(self, port: str) -> str:
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "--port", port, *self._arguments],
            cwd=self.folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        found = re.search(r"at (http://\S+)/ ", wait_for(self.process.stderr, "Ctrl-C ends it"))
        assert found
        return found[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def start_again(self) -> None:
        self._start(self.address.rpartition(":")[2])


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    serving = Server(write(tmp_path_factory.mktemp("a2a") / "shop"))
    yield serving
    serving.kill()


@asynccontextmanager
async def behind_the_door(moot: Folkmoot, port: int = 0, *, token: str = "") -> AsyncIterator[str]:
    """As `folkmoot serve` puts it together, in this process; its address."""
    house = ServerState(moot=moot, door=ServerOptions(port=port, token=token))
    async with house.room, run_server(house, build_application(house, a2a_routes(house))) as address:
        yield address.rstrip("/")


@asynccontextmanager
async def client_of(url: str, *, streaming: bool = False, token: str = "") -> AsyncIterator[Client]:
    """The official client, by the card that lies there."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        factory = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http))
        yield await factory.create_from_url(url)


def message(text: str, **more: Any) -> SendMessageRequest:
    said = {"message_id": os.urandom(8).hex(), "role": Role.ROLE_USER, "parts": [Part(text=text)], **more}
    return SendMessageRequest(message=Message(**said))


async def events(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    return [event async for event in client.send_message(request)]


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """Without a stream: the task as it came back."""
    (event,) = await events(client, request)
    return event.task


def state(task: Any) -> str:
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower()


def words(task: Any) -> str:
    """What stands beside its state."""
    return "".join(part.text for part in task.status.message.parts)


def report(task: Task) -> str:
    (artifact,) = task.artifacts
    return artifact.parts[0].text
