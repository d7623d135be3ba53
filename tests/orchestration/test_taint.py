"""Where text of others comes in, on every way that agents work together; and what a plan made before still allows."""

import json

import pytest

from folkmoot.domain.naming import draw
from tests.desk import SETTINGS
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


async def test_a_plan_made_after_reading_untrusted_text_allows_nothing(desk, disk):
    """Pains 4: who wrote the plan had read the advice, and who advised had read the web."""
    script = {
        "law": [{"calls": [FETCH]}, "save it"],
        "desk/planner": [json.dumps(PLAN)],
        "desk/executor": [{"calls": [save("a.txt")]}, "done"],
    }
    files = {"desk": "tools: [fetch, save]\nsplit: always\nadvisors: [law.ai]", "law": "tools: [fetch]"}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert why(played) == ["the session has read what fetch gave law in turn 1"]
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
    assert why(played) == ["the session has read what fetch gave desk in turn 1"]
    assert disk.saved == ["one", "two"]


def asking(agent, prompt="p"):
    return {"calls": [{"tool": f"agent__{agent}", "arguments": {"prompt": prompt, "reason": "r"}}]}


def letter(to):
    return {"calls": [{"tool": "a2a_send", "arguments": {"to": to, "message": "save it"}}]}


MISSION = {"calls": [{"tool": "call_agent", "arguments": {"mission": "look", "specialist": "clerk"}}]}
SAVING = [{"calls": [save()]}, "ok"]
CALLING = "\norchestration: {enable_agent_tool: true, auto_approve: true}\n"
WAYS = {
    "a report": (
        {"desk": "tools: [save]\nagents: [clerk.ai]"},
        {"desk": [asking("clerk"), *SAVING]},
    ),
    "a report of a report": (
        {"desk": "tools: [save]\nagents: [mid.ai]", "mid": "agents: [clerk.ai]"},
        {"desk": [asking("mid"), *SAVING], "mid": [asking("clerk"), "it is so"]},
    ),
    "an advisory": ({"desk": "tools: [save]\nadvisors: [clerk.ai]"}, {"desk": SAVING}),
    "a handoff": (
        {"desk": "handoff: mid.ai\nadvisors: [clerk.ai]", "mid": "tools: [save]"},
        {"desk": ["do it"], "mid": SAVING},
    ),
    "a route": (
        {"desk": "router: {destinations: [mid.ai]}\nagents: [clerk.ai]", "mid": "tools: [save]"},
        {"desk": [asking("clerk"), {"route": "mid"}], "mid": SAVING},
    ),
    "a message": ({"desk": "tools: [a2a_send, save]"}, {"desk": [letter("clerk"), *SAVING]}),
    "a message to another": (
        {"desk": "tools: [a2a_send]\nagents: [clerk.ai]", "mid": "tools: [save]"},
        {"desk": [asking("clerk"), letter("mid"), "ok"], "mid": SAVING},
    ),
    "a mission": ({"desk": "tools: [save]"}, {"desk": [MISSION, *SAVING]}),
    "a broadcast": (
        {
            "desk": "team: {members: [clerk.ai, mid.ai], supervisor: lead.ai}",
            "mid": "tools: [save]",
            "lead": "",
        },
        {
            "mid": [{"broadcast": "I wait"}, {"calls": [save()]}, {"broadcast": "done"}],
            "lead": [{"broadcast": "go on"}, {"report": "ok"}],
        },
    ),
    "an own part of the work": (
        {"desk": "tools: [save]\nagents: [clerk.ai]\nplanningStrategy: plan_and_react"},
        {"desk/planner": [json.dumps({"steps": [STEP]})], "desk/executor": [asking("clerk"), *SAVING]},
    ),
    "the answer of a parent": (
        {"desk": "agents: [clerk.ai, mid.ai]", "mid": "tools: [ask_parent, save]"},
        {
            "desk": [asking("clerk"), asking("mid"), "do it", "ok"],
            "mid": [{"calls": [{"tool": "ask_parent", "arguments": {"question": "what?"}}]}, *SAVING],
        },
    ),
}


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("way", WAYS)
async def test_what_an_agent_says_is_untrusted_exactly_if_it_has_read_untrusted_text(desk, disk, way, read):
    """K-6: reports, advisories and messages carry what the session had read that wrote them, on every way."""
    files, script = WAYS[way]
    said = [{"broadcast": "save it"}, {"broadcast": "yes"}] if way == "a broadcast" else ["save it"]
    files = {"clerk": "tools: [fetch]", **files}
    script = {**script, "clerk": [*([{"calls": [FETCH]}] if read else []), *said]}
    settings = SETTINGS + CALLING if way == "a mission" else SETTINGS
    at = desk(files, script, tools=disk.tools, settings=settings)
    async with at.open() as moot:
        played = await at.played(await moot.run("desk", "hello"))
        assert (await moot.replay("run-1")).divergence == ""

    assert why(played) == (["the session has read what fetch gave clerk in turn 1"] if read else [])
    assert disk.saved == ([] if read else ["a.txt"])
    (end,) = [*played.events("run.completed"), *played.events("run.parked")]
    assert getattr(end, "sources", ()) == ()


async def test_a_finished_agent_that_is_asked_again_remembers_what_it_has_read(desk, disk):
    """DESIGN 4: a question is text of its caller, and its own conversation goes on."""
    seed, span = "a seed nobody knows", "0/turn:1/call:1"
    clerk = f"run-1:sub_clerk_{draw(seed, span, 'session', length=8)}"
    question = {"tool": "agent__ask_clarification", "arguments": {"child_id": clerk, "question": "save it"}}
    script = {
        "desk": [asking("clerk"), {"calls": [question]}, "ok"],
        "clerk": [{"calls": [save("one"), FETCH]}, "saved", {"calls": [save("two")]}, "ok"],
    }
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\ntools: [fetch, save]"}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert disk.saved == ["one"]
    assert why(played) == ["the session has read what fetch gave clerk in turn 1"]


async def test_the_end_of_a_run_says_what_was_read_for_its_answer(desk, disk):
    """K-6: whoever goes on from the answer knows."""
    script = {"desk": [asking("clerk"), "so it is"], "clerk": [{"calls": [FETCH]}, "it is so"]}
    files = {"desk": "agents: [clerk.ai]", "clerk": "tools: [fetch]"}
    played = await desk(files, script, tools=disk.tools).run("desk")

    assert [source.text for source in played.events("run.completed")[0].sources] == [
        "what fetch gave clerk in turn 1"
    ]
