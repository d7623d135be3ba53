"""`folkmoot serve` as a process: where it listens, whom it lets in, what it goes on with, and how it stops."""

import asyncio
import json
import re
import signal
import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mcp import Client

from tests.cli.conftest import FOREVER, SETTINGS, ended, interrupted, wait_for

TOKEN = "a-token-that-nobody-guesses"
AGENTS = {"a": "description: works", "q": "tools: [ask_user]"}
ASKS = [{"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}, {"report": "that one"}]
SCRIPT = {"a": [{"report": "fine"}], "q": ASKS}


@pytest.fixture
def project(folkmoot):
    folkmoot.write(AGENTS, SCRIPT)
    return folkmoot


class Serving:
    def __init__(self, folkmoot, *arguments: str) -> None:
        self.process: subprocess.Popen[str] = folkmoot.started("serve", "--port", "0", *arguments)
        self.said = ""
        self.says("Ctrl-C ends it")
        found = re.search(r"at (http://\S+/) ", self.said)
        assert found, self.said
        self.address = found[1]

    def says(self, words: str) -> None:
        """Return when it has said so."""
        if words not in self.said:
            self.said += wait_for(self.process.stderr, words)

    def ask(self, path: str, token: str = "") -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with urlopen(Request(f"{self.address}{path}", headers=headers)) as answer:
                return answer.status
        except HTTPError as error:
            with error:
                return error.code


@pytest.fixture
def serving(project):
    """`serving("--host", …)`; whatever still runs is ended."""
    started = []

    def start(*arguments: str) -> Serving:
        started.append(Serving(project, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def status(project, run: str = "last") -> str:
    return project("runs", "show", run, "--json").json["status"]


def test_it_says_where_it_really_is_and_ends_with_ctrl_c(serving):
    server = serving()

    assert server.address.startswith("http://127.0.0.1:")
    assert server.ask("api/health") == server.ask("") == server.ask("api/runs") == 200
    done = interrupted(server.process)
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("stopping; runs are left for whoever goes on with them\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_ways_to_tell_it_to_stop(serving, number):
    assert interrupted(serving().process, number).code == 0


def test_with_a_token_it_listens_there_and_lets_nobody_in_without(serving, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_TOKEN", TOKEN)
    server = serving("--host", "0.0.0.0")
    server.address = server.address.replace("0.0.0.0", "127.0.0.1")

    assert (server.ask("api/health"), server.ask("sign-in")) == (200, 200)
    assert (server.ask("api/runs"), server.ask("api/runs", TOKEN)) == (401, 200)
    log = interrupted(server.process).err
    assert "refused: no token, from 127.0.0.1: 'GET /api/runs'" in log


def test_it_prints_a_new_token_that_is_good_enough(project):
    one, other = (project("serve", "--new-token").out.strip() for _ in range(2))

    assert len(one) > 40
    assert one != other


def test_a_new_token_in_the_file_counts_from_then_on(project, serving):
    file = project.folder / "token"
    file.touch(0o600)
    file.write_text(f"{TOKEN}\n")
    server = serving("--token-file", "token")
    assert server.ask("api/runs", TOKEN) == 200

    file.write_text("short")
    server.says("the old token still counts: a token has 16 characters or more")
    assert server.ask("api/runs", TOKEN) == 200
    file.write_text(TOKEN.upper())
    server.says("there is a new token; whoever came in with the old one has to sign in again")

    assert (server.ask("api/runs", TOKEN), server.ask("api/runs", TOKEN.upper())) == (401, 200)


def test_a_file_without_a_token_or_that_others_can_read_is_refused(project):
    (project.folder / "token").write_text(TOKEN)
    (project.folder / "token").chmod(0o644)

    assert "chmod 600 token" in project("serve", "--token-file", "token").err
    assert "cannot be read" in project("serve", "--token-file", "nothing").err


def test_a_run_that_is_answered_in_a_terminal_goes_on_in_the_server(project, serving):
    """DESIGN 8: an answer is recorded; a live owner, `serve` or `worker` then continues the run."""
    server = serving()
    asked = project("run", "q.ai", "hello", "--json")
    assert asked.code == 6

    assert project("inbox", "answer", asked.json["waiting"][0], "the red one").code == 0

    server.says(f"run {asked.json['runId']}: completed")
    assert status(project) == "completed"


def test_ctrl_c_cancels_no_run_and_the_next_server_goes_on_with_it(project, serving):
    """Nothing is lost: the second Ctrl-C does not wait for the call under way."""
    project.write(AGENTS, {"a": [FOREVER]})
    run = killed(project)
    server = serving()
    server.says(f"goes on with run {run}")
    server.process.send_signal(signal.SIGINT)
    server.says("stopping")
    done = interrupted(server.process)

    assert done.code == 0
    assert f"run {run!r} was left" in done.err
    assert status(project, run) == "interrupted"
    project.write(AGENTS, SCRIPT)
    serving().says(f"run {run}: completed")


def test_the_sinks_of_the_project_are_fed_meanwhile(project, serving):
    project.write(
        {"a": "handoff: b.ai", "b": ""},
        {"a": [{"report": "Done."}], "b": [{"report": "Checked."}]},
        f"{SETTINGS}sinks:\n  log: {{kind: ndjson}}\n",
    )
    assert project("trust", "--yes").code == 0
    server = serving()
    assert project("run", "a.ai", "hello").code == 0
    assert interrupted(server.process).code == 0

    lines = (project.folder / ".folkmoot/coordination-events.ndjson").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "handoff.completed"


def killed(project) -> str:
    """A run whose process died while its model was asked."""
    running = project.started("run", "a.ai", "hello", "-v")
    wait_for(running.stderr, "a asks")
    running.kill()
    ended(running)
    return project("runs", "list", "--json").json[0]["runId"]


def test_mcp_clients_find_the_agents_behind_the_same_guard(serving):
    """The official client against the real server."""
    served = serving()

    async def used() -> tuple[list[str], str]:
        async with Client(f"{served.address}mcp") as client:
            offered = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("a", {"request": "go"})
            return offered, answer.content[0].text

    offered, said = asyncio.run(used())

    assert {"a", "q"} <= set(offered)
    assert said == "fine"
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{served.address}mcp", headers={"Host": "evil.example"}))
    refused.value.close()
    assert refused.value.code == 421


SLEEPY = "agents: {defaults: {taskContinuation: {idleThreshold: 1ms, checkInterval: 10ms}}}\n"


@pytest.fixture
def idle_task(project):
    """A task that nobody works on, in a project whose watch looks often."""
    project.write({"a": "tools: [tasks]"}, {"a": [{"report": "fine"}]}, SETTINGS + SLEEPY)
    assert project("tasks", "start", "Sort the invoices", "--agent", "a", "--simple").code == 0
    return project


def test_a_server_says_that_it_keeps_the_watch(idle_task, serving):
    """K-67."""
    server = serving()

    server.says("watching tasks, every 10ms: agents of idle ones are started (not with --no-watch)")
    server.says("continuation.sent task_")


def test_a_server_that_is_told_not_to_keeps_no_watch(idle_task, serving):
    """K-67: an idle task stays as it is."""
    server = serving("--no-watch")
    assert server.ask("api/tasks") == 200
    said = interrupted(server.process)

    assert "watching" not in server.said + said.err
    assert idle_task("events", "--type", "continuation.sent", "--json").json == []


def test_a_port_that_is_taken_is_told_with_what_to_do(project, serving):
    port = serving().address.rpartition(":")[2].strip("/")
    done = project("serve", "--port", port)

    assert done.code == 1
    assert (
        f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another with --port" in done.err
    )


def test_an_address_that_others_can_reach_needs_a_token(project, monkeypatch):
    """DESIGN 8: loopback by default; a refusal to start without a token as soon as it is not."""
    done = project("serve", "--host", "0.0.0.0")
    assert done.code == 2
    assert "0.0.0.0 can be reached from elsewhere: set FOLKMOOT_TOKEN" in done.err

    monkeypatch.setenv("FOLKMOOT_TOKEN", "too-short")
    done = project("serve", "--host", "0.0.0.0")
    assert done.code == 2
    assert "a token has 16 characters or more" in done.err
    assert "too-short" not in done.err


def test_a_run_whose_process_was_killed_goes_on_in_the_server(project, serving):
    project.write(AGENTS, {"a": [FOREVER]})
    run = killed(project)
    project.write(AGENTS, SCRIPT)

    serving().says(f"run {run}: completed")

    assert status(project, run) == "completed"
