"""`folkmoot tasks`: people see what agents have to do, and act for them."""

import asyncio
import io

import pytest
from rich.console import Console

from folkmoot.cli.tasks import draw_task_list
from folkmoot.coordination.tasks import NewTask
from folkmoot.operations.task_reading import ListTasks
from tests.cli.conftest import SETTINGS, interrupted, wait_for
from tests.coordination.task.desks import Moment

AGENTS = {"coder": "tools: [tasks]", "tester": "tools: [tasks]"}


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
    """`folkmoot tasks …` in a project with two agents."""
    folkmoot.write(AGENTS, {})

    def call(*arguments):
        return folkmoot("tasks", *arguments)

    return call


def made(done):
    """The task that a command has made or changed."""
    assert done.code == 0, done.err
    return done.json


def test_before_anything_happened_there_is_nothing(tasks):
    assert tasks("list", "--json").json == []
    assert "there are no such tasks" in tasks("list").err


def test_people_read_a_row_for_each_task_and_the_whole_of_one(tasks):
    id = made(tasks("add", "Mend it", "--agent", "coder", "--json"))["id"]

    assert [line.split()[1] for line in tasks("list").out.splitlines()] == ["STATUS", "backlog"]
    assert "Mend it" in tasks("show", id).out


def test_the_steps_change_one_at_a_time(tasks):
    done = tasks("update", "--start-step", "s1", "--skip-step", "s2")

    assert (done.code, "one change of the steps at a time" in done.err) == (2, True)


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
    drawing = asyncio.create_task(draw_task_list(at.journal, ListTasks(all=True), console))
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
