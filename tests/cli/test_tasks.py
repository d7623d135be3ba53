"""`folkmoot tasks`: people see what agents have to do, and act for them."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from folkmoot.cli.tasks import draw
from folkmoot.coordination.task.opening import NewTask
from folkmoot.operations.task_reading import ListTasks
from tests.cli.conftest import SETTINGS, interrupted, wait_for
from tests.coordination.task.desks import Moment

AGENTS = {"coder": "tools: [tasks]", "tester": "tools: [tasks]", "boss": "role: lead"}


class Screen(io.StringIO):
    """Says when something stands on it."""

    def __init__(self):
        super().__init__()
        self._news = asyncio.Event()

    def write(self, text):
        self._news.set()
        return super().write(text)

    async def shows(self, words):
        while words not in self.getvalue():
            self._news.clear()
            await self._news.wait()


@pytest.fixture
def tasks(folkmoot):
    """`folkmoot tasks …` in a project with three agents."""
    pick = [{"calls": [{"tool": "task_pick_backlog"}]}, "picked"]
    folkmoot.write(AGENTS, {"coder": pick})

    def call(*arguments):
        return folkmoot("tasks", *arguments)

    return call


def made(done):
    """The task that a command has made or changed."""
    assert done.code == 0, done.err
    return done.json


def test_a_person_starts_a_task_for_an_agent_and_sees_it_through(tasks):
    """E-14, E-15, E-16, at the terminal."""
    task = made(tasks("start", "Mend it", "--agent", "coder", "--step", "look", "--step", "mend", "--json"))
    id = task["id"]

    refused = tasks("complete", "--agent", "coder")
    made(tasks("update", "--agent", "coder", "--complete-step", "s1", "--progress", "seen", "--json"))
    made(tasks("update", id[:10], "--skip-step", "s2", "--json"))
    done = made(tasks("complete", id, "--summary", "fine", "--json"))

    assert (task["status"], task["agentId"], task["source"][:8]) == ("in_progress", "coder", "request:")
    assert (refused.code, "stop_guard" in refused.err, "s1 (in_progress) look" in refused.err) == (
        2,
        True,
        True,
    )
    assert (done["status"], done["outcome"]) == ("completed", {"kind": "completed", "summary": "fine"})
    assert done["progress"] == ["seen"]


def test_each_outcome_is_made_and_shown(tasks):
    """E-26, E-27: the task says its kind and its field, as JSON and as Markdown."""
    names = [made(tasks("start", f"t{n}", "--agent", "coder", "--json"))["id"] for n in range(3)]
    tasks("complete", names[0], "--summary", "all good")
    tasks("cancel", names[1], "--reason", "not wanted")
    tasks("fail", names[2], "--error", "no disk")

    shown = [made(tasks("show", id, "--json")) for id in names]

    assert [task["status"] for task in shown] == ["completed", "cancelled", "interrupted"]
    assert [task["outcome"] for task in shown] == [
        {"kind": "completed", "summary": "all good"},
        {"kind": "cancelled", "reason": "not wanted"},
        {"kind": "error", "error": "no disk"},
    ]
    text = tasks("show", names[2]).out
    assert '## Outcome\n\n```json\n{\n  "kind": "error",\n  "error": "no disk"\n}\n```' in text


def test_the_backlog_is_filled_and_emptied_by_people_and_agents(tasks, folkmoot):
    """E-23, E-24."""
    low = made(tasks("add", "later", "--agent", "coder", "--priority", "low", "--json"))
    more = ("--due", "2026-12-01", "--effort", "small", "--depends-on", low["id"], "--priority", "urgent")
    high = made(tasks("add", "then", "--agent", "coder", *more, "--json"))

    refused = tasks("pick", high["id"])
    ran = folkmoot("run", "coder.ai", "go on")
    current = made(tasks("list", "--status", "in_progress", "--json"))

    assert (high["dueDate"], high["estimatedEffort"], high["dependsOn"]) == (
        "2026-12-01",
        "small",
        [low["id"]],
    )
    assert (refused.code, f"depends on {low['id']} (backlog)" in refused.err) == (2, True)
    assert ran.code == 0
    assert [task["id"] for task in current] == [low["id"]]
    assert current[0]["previousWorkSessionId"] == low["workSessionId"] != current[0]["workSessionId"]


def test_lists_show_what_is_alive_by_priority_or_what_was_asked_for(tasks):
    """E-18."""
    for text, priority, agent in (("a", "low", "coder"), ("b", "urgent", "tester"), ("c", "high", "coder")):
        tasks("add", text, "--agent", agent, "--priority", priority)
    gone = made(tasks("start", "d", "--agent", "coder", "--json"))["id"]
    tasks("cancel", gone)

    def words(*options):
        return "".join(task["description"] for task in made(tasks("list", *options, "--json")))

    assert words() == "bca"
    assert words("--all") == "bcda"
    assert words("--agent", "coder") == "ca"
    assert words("--status", "cancelled") == "d"
    assert [line.split()[1] for line in tasks("list").out.splitlines()] == ["STATUS", *["backlog"] * 3]


def test_before_anything_happened_there_is_nothing(tasks):
    assert tasks("list", "--json").json == []
    assert "there are no such tasks" in tasks("list").err


def test_the_steps_change_one_at_a_time(tasks):
    done = tasks("update", "--start-step", "s1", "--skip-step", "s2")

    assert (done.code, "one change of the steps at a time" in done.err) == (2, True)


def test_steps_are_set_added_started_and_put_in_order(tasks):
    """E-15."""
    id = made(tasks("start", "x", "--agent", "coder", "--json"))["id"]
    tasks("update", id, "--set-steps", "a", "--set-steps", "b")
    tasks("update", id, "--add-step", "c")
    tasks("update", id, "--start-step", "s2")

    after = made(tasks("update", id, "--order", "s3,s2", "--json"))

    assert [(step["id"], step["content"], step["status"]) for step in after["steps"]] == [
        ("s3", "c", "pending"),
        ("s2", "b", "in_progress"),
        ("s1", "a", "pending"),
    ]


def test_changes_are_followed_line_by_line_in_a_pipe(tasks, folkmoot):
    id = made(tasks("start", "Mend it", "--agent", "coder", "--json"))["id"]
    following = folkmoot.started("tasks", "list", "--follow", "--agent", "coder")
    wait_for(following.stdout, f"{id} in_progress (coder): Mend it")

    tasks("start", "Another's", "--agent", "tester")
    tasks("complete", id)
    seen = wait_for(following.stdout, f"{id} completed (coder): Mend it")
    assert "Another's" not in seen

    done = interrupted(following)
    assert (done.code, done.err) == (0, "")


async def test_the_live_list_is_drawn_again_when_a_task_changes():
    at, screen = Moment(), Screen()
    task = await at.person("coder").start(NewTask("Mend\x1b[31m it"), "drawn")
    console = Console(file=screen, force_terminal=True, width=140, color_system=None)
    drawing = asyncio.create_task(draw(at.journal, ListTasks(all=True), console))
    async with asyncio.timeout(60):
        await screen.shows("in_progress")
        await at.person().complete(task.id)
        await screen.shows("completed")
    drawing.cancel()

    assert "Mend\\u001b[31m it" in screen.getvalue()


def test_the_live_list_stays_until_its_user_ends_it(tasks, folkmoot):
    tasks("start", "Mend it", "--agent", "coder")

    code, screen = folkmoot.on_a_terminal("tasks", "list", "--live", when=[("Mend it", b"\x03")])

    assert code == 0
    assert "in_progress" in screen


def test_explain_says_that_work_needs_a_task(folkmoot):
    """E-88, X-4."""
    folkmoot.write({"coder": "tools: [tasks, files]"}, {}, SETTINGS + "tasks: {enforce: true}\n")

    told = {tool["tool"]: tool for tool in folkmoot("explain", "coder", "--json").json["tools"]}

    assert told["files__write"]["beyond"].startswith(
        "refused until the agent has a task in progress; the tool asks"
    )
    assert "task" not in told["files__read"]["beyond"]
    assert told["task_start"]["because"] == "coder.ai names 'tasks' in `tools`"
