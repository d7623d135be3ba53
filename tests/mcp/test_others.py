"""Servers by others, from the registries: of both generations of the protocol, over pipes and over HTTP."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed
from tests.mcp.conftest import HERE, TIMEOUT, use

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
    assert "completed" in slow.text.lower()
    assert "A_SECRET" not in seen.text


@pytest.fixture
async def over_http(by_others, tmp_path):
    """The everything server over streamable HTTP; its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = await asyncio.create_subprocess_exec(
        by_others / "mcp-server-everything",
        "streamableHttp",
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert server.stderr is not None
    while b"listening" not in (line := await server.stderr.readline()):
        assert line, "it ended before it listened"
    yield f"http://127.0.0.1:{port}/mcp", server
    if server.returncode is None:
        server.send_signal(signal.SIGKILL)
    await server.communicate()


async def test_a_server_over_http(shop, over_http):
    address, _ = over_http
    tools = await shop.known("all", ToolSource("mcp", url=address, timeout=TIMEOUT))

    assert (await use(tools["echo"], message="hello")).text == "Echo: hello"


async def test_a_server_over_http_that_goes_away_is_named_and_asked_anew(shop, over_http):
    address, server = over_http
    entry = ToolSource("mcp", url=address, timeout=TIMEOUT)
    tools = await shop.known("all", entry)
    assert not (await use(tools["echo"], message="hello")).failed

    server.send_signal(signal.SIGKILL)
    await server.wait()
    lost = await use(tools["echo"], message="hello?")
    again = await use(tools["echo"], message="hello?")

    assert lost.failed
    assert again.failed
    assert "the tool server 'all' did not start" in again.text
    assert address in again.text


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
