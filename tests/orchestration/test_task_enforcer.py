"""Where the project says so, agents work on nothing that is no task."""

import pytest

from folkmoot.domain.errand import Errand
from tests.desk import SETTINGS
from tests.fakes import fake

ENFORCED = SETTINGS + "tasks: {enforce: true}\n"
FILES = {"coder": "tools: [tasks, save, look]", "clerk": "tools: [save]"}
SAVE = {"calls": [{"tool": "save", "arguments": {"text": "x"}}]}
START = {"calls": [{"tool": "task_start", "arguments": {"description": "x"}}]}
END = {"calls": [{"tool": "task_complete"}]}
WAIT = {"calls": [{"tool": "task_start", "arguments": {"description": "x", "requires_approval": True}}]}


@pytest.fixture
def save():
    return fake("save(text)", "saved", effect="keyed", access="write")


async def refusals(desk, save, *turns, agent="coder", settings=ENFORCED):
    """What was refused because there was no task."""
    at = desk(FILES, {agent: [*turns, "done"]}, tools=[save, fake("look", "seen")], settings=settings)
    played = await at.run(f"{agent}.ai")
    assert played.result.status == "completed", played.result.error
    return [event for event in played.events("tool.failed") if event.code == "no_task"]


async def test_work_before_a_task_is_refused_with_an_instruction_and_the_refusal_is_recorded(desk, save):
    """E-88."""
    (refused,) = await refusals(desk, save, SAVE, START, SAVE)

    assert save.calls == ["x"]
    assert refused.tool == "save"
    assert "save is work, and you have no task in progress: start one (task_start)" in refused.text


async def test_by_default_nobody_needs_a_task(desk, save):
    """O-11."""
    assert await refusals(desk, save, SAVE, settings=SETTINGS) == []
    assert save.calls == ["x"]


async def test_reading_needs_no_task(desk, save):
    """E-88."""
    assert await refusals(desk, save, {"calls": [{"tool": "look"}]}) == []


async def test_a_task_that_waits_for_approval_or_has_ended_is_no_reason_to_work(desk, save):
    """E-88."""
    assert len(await refusals(desk, save, WAIT, SAVE, START, SAVE, END, SAVE)) == 2
    assert save.calls == ["x"]


async def test_an_agent_that_cannot_start_tasks_is_not_held_up(desk, save):
    """E-88: it could never do as it is told."""
    assert await refusals(desk, save, SAVE, agent="clerk") == []
    assert save.calls == ["x"]


async def test_a_run_that_is_about_a_task_needs_no_other(desk, save):
    """E-88: whoever is told to go on with a task works on it."""
    at = desk(FILES, {"coder": [SAVE, "done"]}, tools=[save, fake("look", "seen")], settings=ENFORCED)
    async with at.open() as moot:
        await moot.run("coder.ai", "go on", errand=Errand(task="task_1"))

    assert save.calls == ["x"]
