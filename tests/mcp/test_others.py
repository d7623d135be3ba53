"""Servers by others, from the registries: of both generations of the protocol, over pipes and over HTTP."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed
from tests.mcp.conftest import HERE, TIMEOUT, use
from tests.ports import free_port

PROGRAMS = Path(sys.executable).parent


def source(*command: object, **more) -> ToolSource:
    return ToolSource("mcp", command=tuple(str(word) for word in command), timeout=TIMEOUT, **more)


async def test_the_time_server(shop):
    tools = await shop.known("time", source(PROGRAMS / "mcp-server-time"))

    told = json.loads((await use(tools["get_current_time"], timezone="Europe/Paris")).text)
    refused = await use(tools["get_current_time"], timezone="Atlantis")

    assert told["timezone"] == "Europe/Paris"
    assert refused.failed
    assert "Atlantis" in refused.text


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    (folder / "new.txt").write_text("x")
    return folder


async def test_the_git_server(shop, repository):
    tools = await shop.known("git", source(PROGRAMS / "mcp-server-git", "--repository", repository))

    status = await use(tools["git_status"], repo_path=str(repository))

    assert "new.txt" in status.text


async def test_the_filesystem_server(shop, by_others):
    """A server of the older generation: it is asked with `initialize`."""
    folder = shop.folder / "shared"
    folder.mkdir()
    (folder / "note.txt").write_text("remember the milk")
    tools = await shop.known("files", source(by_others / "mcp-server-filesystem", folder))

    inside = await use(tools["read_text_file"], path=str(folder / "note.txt"))
    outside = await use(tools["read_text_file"], path="/etc/passwd")

    assert inside.text == "remember the milk"
    assert outside.failed
    assert "denied" in outside.text


async def test_the_everything_server(shop, by_others):
    shop.env["A_SECRET"] = "never told"
    tools = await shop.known("all", source(by_others / "mcp-server-everything"))

    echoed = await use(tools["echo"], message="hello")
    summed = await use(tools["get-sum"], a=2, b=40)
    structured = await use(tools["get-structured-content"], location="New York")
    image = await use(tools["get-tiny-image"])
    slow = await use(tools["trigger-long-running-operation"], duration=0.2, steps=4)
    seen = await use(tools["get-env"])

    assert echoed.text == "Echo: hello"
    assert "42" in summed.text
    assert set(json.loads(structured.text)) == {"temperature", "conditions", "humidity"}
    assert "[image image/png of" in image.text
    assert image.attachments[0].content.startswith(b"\x89PNG")
    assert "completed" in slow.text.lower()
    assert "A_SECRET" not in seen.text


class OverHttp:
    """The everything server over streamable HTTP, which may go away and come back."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._port = free_port()
        self.source = ToolSource("mcp", url=f"http://127.0.0.1:{self._port}/mcp", timeout=TIMEOUT)

    async def start(self) -> None:
        self._server = await asyncio.create_subprocess_exec(
            self._programs / "mcp-server-everything",
            "streamableHttp",
            env={"PATH": os.environ["PATH"], "PORT": str(self._port)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert self._server.stderr is not None
        while b"listening" not in (line := await self._server.stderr.readline()):
            assert line, "it ended before it listened"

    async def kill(self) -> None:
        if self._server.returncode is None:
            self._server.kill()
        await self._server.communicate()


@pytest.fixture
async def over_http(by_others):
    server = OverHttp(by_others)
    await server.start()
    yield server
    await server.kill()


async def test_a_server_over_http(shop, over_http):
    tools = await shop.known("all", over_http.source)

    assert (await use(tools["echo"], message="hello")).text == "Echo: hello"


async def test_a_server_over_http_that_goes_away_is_named_and_used_again_when_it_is_back(shop, over_http):
    tools = await shop.known("all", over_http.source)
    assert not (await use(tools["echo"], message="hello")).failed

    await over_http.kill()
    lost = await use(tools["echo"], message="hello?")
    again = await use(tools["echo"], message="hello?")
    await over_http.start()
    back = await use(tools["echo"], message="hello!")

    assert "the tool server 'all' was lost" in lost.text
    assert "the tool server 'all' did not start: " in again.text
    assert over_http.source.url in again.text
    assert back.text == "Echo: hello!"


async def test_a_server_over_http_that_was_started_anew_costs_at_most_one_call(shop, over_http):
    tools = await shop.known("all", over_http.source)
    await use(tools["echo"], message="hello")

    await over_http.kill()
    await over_http.start()
    await use(tools["echo"], message="who are you?")

    assert (await use(tools["echo"], message="hello!")).text == "Echo: hello!"


@asynccontextmanager
async def answering(head: str, body: bytes = b"") -> AsyncIterator[tuple[str, list[bytes]]]:
    """Somebody who gives every request the same answer: its address, and the heads of the requests."""
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        writer.write(body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp", seen


async def test_a_header_bears_the_value_of_the_variable_that_it_names(shop):
    shop.env["A_TOKEN"] = "t0ken-value"

    async with answering("401 Unauthorized") as (url, seen):
        entry = ToolSource("mcp", url=url, headers={"Authorization": "Bearer ${A_TOKEN}"}, timeout=TIMEOUT)
        with pytest.raises(ServerFailed) as raised:
            await shop.servers.offers("closed", entry)

    assert b"authorization: bearer t0ken-value" in seen[0].lower()
    assert "t0ken-value" not in str(raised.value)


async def test_an_answer_of_100_mb_over_http_is_not_read_to_its_end(shop):
    async with answering("200 OK\r\nContent-Type: application/json", b"x" * 100_000_000) as (url, _):
        with pytest.raises(ServerFailed, match="an answer of more than 16,000,000 bytes"):
            await shop.servers.offers("flood", ToolSource("mcp", url=url, timeout=TIMEOUT))


async def test_an_address_where_nobody_listens_is_named(shop):
    with pytest.raises(ServerFailed, match=r"the tool server 'gone' did not start: .*http://127.0.0.1:9/mcp"):
        await shop.servers.offers("gone", ToolSource("mcp", url="http://127.0.0.1:9/mcp", timeout=TIMEOUT))


async def test_a_server_of_the_newer_generation_whose_tool_changes_in_mid_run_is_found_out(shop):
    tools = await shop.known("modern", source(sys.executable, HERE / "modern.py"))
    assert (await use(tools["echo"], text="hello")).text == "hello"

    await use(tools["change"])
    async with asyncio.timeout(TIMEOUT):
        while not (refused := await use(tools["echo"], text="hello")).failed:
            pass

    assert "'echo' of the server 'modern' has another description since it was trusted" in refused.text
