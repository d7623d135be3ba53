"""Agents as tools."""

from tests.desk import blocks

ASK = {"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "need a number"}}
FILES = {"desk": "agents: [clerk.ai]", "clerk": "description: Counts things."}


async def test_an_agent_of_the_file_is_a_tool_and_its_answer_comes_back(desk):
    """A-114, A-23."""
    played = await desk(FILES, {"desk": [{"calls": [ASK]}, "it is 3"], "clerk": ["3"]}).run("desk.ai")

    assert "agent__clerk" in played.offered("desk")
    assert played.prompt("clerk") == "count"
    assert played.model.heard_from("desk")[1].messages[-1].text == "3\n[runtime: 0 tool calls]"
    assert played.report == "it is 3"


async def test_two_calls_are_two_sessions_of_their_own_and_run_together(desk):
    """A-114, A-25: neither sees the caller's conversation nor the other's."""
    said = {"desk": [{"calls": [ASK, ASK]}, "done"], "clerk": [{"barrier": "both/2", "text": "3"}]}
    played = await desk(FILES, said).run("desk.ai")

    assert played.started() == ["desk", "clerk", "clerk"]
    sessions = {request.session for request in played.model.heard_from("clerk")}
    assert len(sessions) == 2
    assert all(session.startswith("run-1:sub_clerk_") for session in sessions)
    assert all(len(request.messages) == 2 for request in played.model.heard_from("clerk"))


async def test_a_called_agent_answers_with_the_end_of_its_chain(desk):
    """A-21, A-23, A-42: and its advisors run too."""
    files = {
        "desk": "agents: [a.ai]",
        "a": "advisors: [law.ai]\nhandoff: b.ai",
        "law": "",
        "b": "handoff: c.ai",
        "c": "",
    }
    ask = {"tool": "agent__a", "arguments": {"prompt": "p", "reason": "r"}}
    said = {"desk": [{"calls": [ask]}, "done"], "law": ["x"], "a": ["1"], "b": ["2"], "c": ["3"]}
    played = await desk(files, said).run("desk.ai")

    assert played.model.heard_from("desk")[1].messages[-1].text == "3\n[runtime: 0 tool calls]"
    assert blocks(played.prompt("c"))[0] == ("original_user_request", "", "p")


async def test_a_called_agent_that_fails_is_a_tool_result_that_says_where(desk):
    """B-13's rule for plain calls: the caller goes on."""
    broken = [{"error": {"message": "down", "retryable": False}}]
    played = await desk(FILES, {"desk": [{"calls": [ASK]}, "sorry"], "clerk": broken}).run("desk.ai")

    assert played.report == "sorry"
    result = played.model.heard_from("desk")[1].messages[-1].text
    assert result.startswith("(tool failed: clerk: ")
    assert "down" in result


async def test_the_reason_is_the_title_and_never_reaches_the_prompt(desk):
    """A-48."""
    played = await desk(FILES, {"desk": [{"calls": [ASK]}, "ok"], "clerk": ["3"]}).run("desk.ai")

    assert played.events("session.started")[1].title == "need a number"
    heard = played.model.heard_from("clerk")[0]
    assert not any("need a number" in message.text for message in heard.messages)


async def test_wrong_arguments_start_nothing(desk):
    wrong = {"tool": "agent__clerk", "arguments": {"prompt": " ", "reason": "x"}}
    more = {"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "x", "_parent_session_id": "root"}}
    played = await desk(FILES, {"desk": [{"calls": [wrong, more]}, "ok"]}).run("desk.ai")

    assert played.started() == ["desk"]
    assert [event.text for event in played.events("tool.failed")] == [
        "(tool failed: prompt is empty)",
        "(tool failed: Object contains unknown field `_parent_session_id`)",
    ]


async def test_children_hang_under_the_call_that_started_them(desk):
    """A-105."""
    played = await desk(FILES, {"desk": [{"calls": [ASK]}, "ok"], "clerk": ["3"]}).run("desk.ai")

    op = played.result.op_tree.turns[0].ops[1]
    assert (op.kind, op.name, op.op_id, op.status) == ("tool", "agent__clerk", "1-2", "ok")
    assert op.child_session.agent_id == "clerk"
    assert op.child_session.turns[0].ops[0].op_id == "1-2.1-1"
    assert played.result.op_tree.totals.agents_run == 2
