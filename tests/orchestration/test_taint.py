"""Where text of others comes in, on every way that agents work together; and what a plan made before still allows."""

import json

import pytest

from folkmoot.domain.draw import draw
from tests.orchestration.test_contract import STEP
from tests.orchestration.test_gate import FETCH, Disk, save

PLAN = {
    "steps": [
        {**STEP, "tool_calls": [{"name": "fetch", "arguments": {"url": "https://example.com/"}}]},
        {**STEP, "tool_calls": [{"name": "save", "arguments": {"path": "a.txt", "content": "x"}}]},
    ]
}


@pytest.fixture
def disk():
    return Disk()


def why(played):
    return [each.why for each in played.events("approval.requested")]


async def test_a_call_that_the_plan_names_is_made_though_its_executor_read_the_web_and_another_is_not(
    desk, disk
):
    """DESIGN 4: unless their arguments are allowed by the plan."""
    script = {
        "desk/planner": [json.dumps(PLAN)],
        "desk/executor": [{"calls": [FETCH]}, {"calls": [save("a.txt"), save("b.txt")]}, "done"],
    }
    at = desk({"desk": "tools: [fetch, save]\nsplit: always"}, script, tools=disk.tools)
    played = await at.run("desk")

    assert disk.saved == ["a.txt"]
    decisions = {each.tool: each.decision for each in played.events("tool.started")}
    assert decisions["save"] == "allowed: the plan names this very call"
    assert [each.arguments["path"] for each in played.events("approval.requested")] == ["b.txt"]


async def test_a_plan_made_after_reading_others_allows_nothing(desk, disk):
    """Pains 4: who wrote the plan had read the advice."""
    script = {
        "law": ["save it"],
        "desk/planner": [json.dumps(PLAN)],
        "desk/executor": [{"calls": [save("a.txt")]}, "done"],
    }
    files = {"desk": "tools: [fetch, save]\nsplit: always\nadvisors: [law.ai]", "law": ""}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert why(played) == ["the session has read what law said"]
    assert disk.saved == []


async def test_a_step_is_tainted_by_what_an_earlier_step_read_and_by_nothing_else(desk, disk):
    """DESIGN 4: the steps of a plan are parts of one agent's work."""
    steps = json.dumps({"steps": [{**STEP, "description": "first"}, {**STEP, "description": "second"}]})

    def script(first):
        return {
            "desk/planner": [steps],
            "desk/step": {
                "rules": [
                    {"when": "Do step s1", "calls": [first]},
                    {"when": "Do step s2", "calls": [save("two")]},
                ],
                "default": "done",
            },
            "desk/executor": ["all done"],
            "desk": ["all done"],
        }

    files = {"desk": "tools: [fetch, save]\nplanningStrategy: plan_and_execute"}
    clean = await desk(files, script(save("one")), tools=disk.tools).run("desk")
    assert (why(clean), disk.saved) == ([], ["one", "two"])

    played = await desk(files, script(FETCH), tools=disk.tools).run("desk")
    assert why(played) == ["the session has read what fetch gave in turn 1"]
    assert disk.saved == ["one", "two"]


async def test_members_of_a_team_are_tainted_by_what_the_others_broadcast(desk, disk):
    """DESIGN 4: in its first cycle a member has heard nobody, afterwards it has."""
    files = {
        "team": "team: {members: [coder.ai, tester.ai], supervisor: lead.ai}",
        "coder": "tools: [save]",
        "tester": "",
        "lead": "",
    }
    script = {
        "coder": [{"calls": [save("one")]}, {"broadcast": "1"}, {"calls": [save("two")]}, {"broadcast": "2"}],
        "tester": [{"broadcast": "do it"}, {"broadcast": "again"}],
        "lead": [{"broadcast": "go on"}, {"report": "reviewed"}],
    }
    played = await desk(files, script, tools=disk.tools).run("team")

    assert disk.saved == ["one"]
    assert why(played) == ["the session has read what tester said"]


async def test_a_finished_agent_that_is_asked_again_is_asked_by_another_agent(desk, disk):
    """DESIGN 4: a question is text of its caller, who has read an agent."""
    seed, span = "a seed nobody knows", "0/turn:1/call:1"
    clerk = f"run-1:sub_clerk_{draw(seed, span, 'session', length=8)}"
    question = {"tool": "agent__ask_clarification", "arguments": {"child_id": clerk, "question": "save it"}}
    call = {"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "r"}}
    script = {
        "desk": [{"calls": [call]}, {"calls": [question]}, "ok"],
        "clerk": [{"calls": [save("one")]}, "saved", {"calls": [save("two")]}, "ok"],
    }
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\ntools: [save]"}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert disk.saved == ["one"]
    assert why(played) == ["the session has read what agent__clerk gave in turn 1, through desk"]


async def test_a_part_of_an_agents_work_is_tainted_by_the_agents_it_asks(desk, disk):
    """DESIGN 4: whatever strategy the agent works by."""
    call = {"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "r"}}
    script = {
        "desk/planner": [json.dumps({"steps": [STEP]})],
        "desk/executor": [{"calls": [call]}, {"calls": [save("two")]}, {"report": "ok"}],
        "clerk": ["save it"],
    }
    files = {"desk": "tools: [save]\nagents: [clerk.ai]\nplanningStrategy: plan_and_react", "clerk": ""}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert why(played) == ["the session has read what agent__clerk gave in turn 1"]
    assert disk.saved == []
