"""`call_agent` asks a person first, at any depth, unless the project says otherwise."""

from tests.desk import SETTINGS
from tests.fakes import fake
from tests.orchestration.calling import ask

CALLING = SETTINGS + "orchestration: {enable_agent_tool: true}\n"
FILES = {"desk": "", "clerk": ""}


async def test_a_call_waits_for_a_word_and_its_risk_is_medium(desk):
    """B-31, O-23: nothing is started before it."""
    at = desk(FILES, {"desk": [{"calls": [ask("count", "clerk")]}, "ok"], "clerk": ["3"]}, settings=CALLING)
    played = await at.run("desk.ai")

    assert played.result.status == "waiting"
    assert played.started() == ["desk"]
    requested = played.events("approval.requested")
    assert [(event.tool, event.risk) for event in requested] == [("call_agent", "medium")]


async def test_an_approved_call_runs_and_a_denied_one_is_told_to_the_model(desk):
    """B-31, B-34."""
    calls = {"calls": [ask("count", "clerk"), ask("steal", "clerk")]}
    at = desk(FILES, {"desk": [calls, "ok"], "clerk": ["3"]}, settings=CALLING)
    async with at.open() as moot:
        parked = await moot.run("desk.ai", "hi")
        first, second = parked.inbox
        await moot.reply(first.approve())
        await moot.reply(second.deny("not that"))
        played = await at.played(await moot.resume("run-1"))

    assert played.report == "ok"
    assert played.started() == ["desk", "clerk"]
    results = [
        message.text for message in played.model.heard_from("desk")[-1].messages if message.role == "tool"
    ]
    assert '"result":"3"' in results[0]
    assert "approval_denied: not that" in results[1]
    assert len(played.model.heard_from("desk")) == 2


async def test_what_a_called_agent_needs_is_shown_at_the_root_run_with_its_path(desk):
    """B-33: the decision releases the child."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "", "post": ""}
    plain = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "r"}}]}
    said = {"desk": [plain, "ok"], "clerk": [{"calls": [ask("send", "post")]}, "done"], "post": ["sent"]}
    at = desk(files, said, settings=CALLING)
    async with at.open() as moot:
        parked = await moot.run("desk.ai", "hi")
        (item,) = parked.inbox
        await moot.reply(item.approve())
        played = await at.played(await moot.resume("run-1"))

    assert (item.run, item.span, item.agent) == ("run-1", "0/turn:1/call:1", "clerk")
    assert played.report == "ok"
    assert played.started() == ["desk", "clerk", "post"]


async def test_a_called_agent_works_in_a_sandbox(desk):
    """B-51: it has the allowed tools alone, its calls wait at the root, and it takes fewer steps than its caller."""
    look = fake("look", "seen", asks="high")
    write = fake("write", AssertionError("never reached"), effect="once", access="write")
    bounded = "auto_approve: true, sub_agent_tool_allowlist: [look], sub_agent_max_steps: 3"
    settings = CALLING.replace("enable_agent_tool: true", f"enable_agent_tool: true, {bounded}")
    both = {"turns": [{"calls": [{"tool": "look"}, {"tool": "write"}]}], "repeat": True}
    said = {"desk": [{"calls": [ask("m", "clerk")]}, "ok"], "clerk": both}
    at = desk(
        {"desk": "maxTurns: 9", "clerk": "tools: [look, write]"}, said, settings=settings, tools=[look, write]
    )
    async with at.open() as moot:
        parked, asked = await moot.run("desk.ai", "hi"), []
        while parked.status == "waiting":
            asked += parked.inbox
            await moot.reply(parked.inbox[0].approve())
            parked = await moot.resume("run-1")
        played = await at.played(parked)

    assert [(item.run, item.span, item.tool) for item in asked] == [("run-1", "0/turn:1/call:1", "look")] * 2
    assert "write" not in played.offered("clerk")
    assert all("there is no tool 'write'" in event.text for event in played.events("tool.failed")[:2])
    assert [event.error_type for event in played.events("sub_agent.failed")] == ["MAX_TURNS"]
    assert len(played.model.heard_from("clerk")) == 3
    assert played.report == "ok"


async def test_a_rule_lets_one_agent_be_called_without_a_word_and_no_other(desk):
    """X-B4: approval per agent, by the argument that names it."""
    rule = "rules: [{tool: call_agent, arguments: {specialist: clerk}, decision: allow}]\n"
    calls = {"calls": [ask("count", "clerk"), ask("count", "post")]}
    script = {"desk": [calls, "ok"], "clerk": ["3"], "post": ["4"]}
    played = await desk({**FILES, "post": ""}, script, settings=CALLING + rule).run("desk.ai")

    assert played.result.status == "waiting"
    assert played.started() == ["desk", "clerk"]
    assert [event.arguments["specialist"] for event in played.events("approval.requested")] == ["post"]
