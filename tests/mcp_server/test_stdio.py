"""`folkmoot mcp` as a process: what is on its stdout, and how it ends."""

import json
import signal
import subprocess
import sys

import pytest

from folkmoot import Folkmoot
from tests.mcp_server.conftest import PROGRAM

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Process:
    def __init__(self, folder, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *PROGRAM, "--project", str(folder), "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []

    def ask(self, id: int, method: str, **params) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict:
        self.said.append(self.process.stdout.readline())
        return json.loads(self.said[-1])

    def greet(self) -> None:
        self.ask(1, "initialize", **HELLO)
        assert self.hear()["id"] == 1
        self.process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')


@pytest.fixture
def start(project):
    started = []

    def starting(*arguments: str) -> Process:
        started.append(Process(project, *arguments))
        return started[-1]

    yield starting
    for one in started:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            pipe.close()


async def status_of_the_only_run(project) -> str:
    async with Folkmoot.open(project) as moot:
        [row] = await moot.runs()
        return row.status


def test_stdout_carries_the_protocol_alone_whatever_tools_print(start):
    server = start()
    server.greet()
    server.ask(2, "tools/call", name="clerk", arguments={"request": "How much?"})
    assert server.hear()["result"]["content"][0]["text"] == "There are three."
    rest, told = server.process.communicate()

    assert (rest, server.process.returncode) == ("", 0)
    for stray in ("the till is loaded", "printed by a tool", "written by a tool", "printed by a child"):
        assert stray in told


def test_a_line_that_is_no_message_ends_nothing(start):
    server = start()
    server.greet()
    server.process.stdin.write("this is no JSON\n")
    server.ask(2, "tools/list")

    while "tools" not in server.hear().get("result", {}):
        pass


@pytest.mark.parametrize(("end", "code"), [("eof", 0), (signal.SIGINT, 130), (signal.SIGTERM, 130)])
async def test_its_end_cancels_its_runs(start, project, end, code):
    server = start()
    server.greet()
    call = {"name": "slow", "arguments": {"request": "Go."}, "_meta": {"progressToken": 1}}
    server.ask(2, "tools/call", **call)
    assert server.hear()["method"] == "notifications/progress"
    if end == "eof":
        server.process.stdin.close()
    else:
        server.process.send_signal(end)  # while its stdin is open: it must not wait for another line

    assert server.process.wait(60) == code
    assert "Traceback" not in server.process.stderr.read()
    assert await status_of_the_only_run(project) == "cancelled"


async def test_a_client_that_no_longer_listens_ends_it(start, project):
    server = start()
    server.greet()
    server.process.stdout.close()
    server.ask(2, "tools/list")

    assert server.process.wait(60) == 0
    assert "broke" not in server.process.stderr.read()


def test_a_folder_without_agents_is_said_to_be_one(start, project):
    for file in project.glob("*.ai"):
        file.unlink()
    said, told = start().process.communicate()

    assert said == ""
    assert "there are no agents in" in told


def test_only_some_agents_can_be_offered(start):
    server = start("--agent", "clerk.ai", "--agent", "payer")
    server.greet()
    server.ask(2, "tools/list")

    assert [tool["name"] for tool in server.hear()["result"]["tools"]] == [
        "clerk",
        "payer",
        "folkmoot__resume",
    ]


def test_an_agent_that_is_not_there_is_said_before_anything_is_served(start):
    server = start("--agent", "clark.ai")
    said, told = server.process.communicate()

    assert (said, server.process.returncode) == ("", 2)
    assert "no agent 'clark.ai'; did you mean 'clerk.ai'?" in told
