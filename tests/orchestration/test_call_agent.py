"""`call_agent`: a mission for another agent."""

import asyncio
import json
import re
import time

from folkmoot.engine.claims import RunIdentity
from tests.desk import SETTINGS, look
from tests.orchestration.calling import ask, calling, results

FILES = {
    "desk": "tools: [look]",
    "clerk": "description: Counts things.",
    "law": "description: Knows the law.",
}
BROKEN = [{"error": {"message": "down", "retryable": False}}]


def at_desk(desk, script, files=FILES, settings=None):
    return desk(files, script, settings=settings or calling(), tools=[look])


async def test_the_tool_is_there_only_when_it_is_switched_on(desk):
    """B-1, B-2, B-35, B-56: one line in the settings."""
    off = await at_desk(desk, {"desk": ["x"]}, settings=SETTINGS).run("desk.ai")
    assert off.offered("desk") == ["look", "agent__final_report"]

    on = await at_desk(desk, {"desk": ["x"]}).run("desk.ai")
    assert on.offered("desk") == ["look", "call_agent", "call_agents_parallel", "agent__final_report"]


async def test_the_tool_names_those_who_may_be_called_and_nobody_else(desk):
    """B-3, B-4, B-5, B-16, X-B1, pains 18: the enum comes from the files, without the caller."""
    played = await at_desk(desk, {"desk": ["x"]}).run("desk.ai")

    spec = next(spec for spec in played.model.heard[0].tools if spec.name == "call_agent")
    assert "- clerk: Counts things.\n- law: Knows the law." in spec.description
    assert spec.parameters["required"] == ["mission"]
    assert spec.parameters["properties"]["specialist"]["enum"] == ["clerk", "law"]
    assert spec.parameters["properties"]["planning_strategy"]["enum"] == [
        "native_react",
        "plan_and_execute",
        "plan_and_react",
        "spar",
    ]
    assert json.loads(json.dumps(spec.parameters)) == spec.parameters


async def test_a_call_asks_a_person_unless_that_is_switched_off(desk):
    """O-23's default: risk medium."""
    asking = SETTINGS + "orchestration: {enable_agent_tool: true}\n"
    played = await at_desk(desk, {"desk": ["x"]}, settings=asking).run("desk.ai")
    asks = {spec.name: spec.asks for spec in played.model.heard[0].tools}
    assert (asks["call_agent"], asks["call_agents_parallel"], asks["look"]) == ("medium", "medium", "")

    played = await at_desk(desk, {"desk": ["x"]}).run("desk.ai")
    assert {spec.asks for spec in played.model.heard[-1].tools} == {""}


async def test_a_specialist_fulfils_a_mission_and_its_result_comes_back(desk):
    """B-10, B-17, B-19, B-58: the simple case."""
    said = {"desk": [{"calls": [ask("count the hats", "clerk")]}, "3 hats"], "clerk": ["3"]}
    played = await at_desk(desk, said).run("desk.ai")

    [returned] = results(played)
    session = returned.pop("session_id")
    assert re.fullmatch(r"run-1:sub_clerk_[0-9a-f]{8}", session)
    assert returned == {"success": True, "result": "3", "steps_taken": 1, "tool_calls": 0, "error": None}
    assert [message.text for message in played.model.heard_from("clerk")[0].messages] == [
        "You are clerk.",
        "count the hats",
    ]
    assert played.report == "3 hats"


async def test_a_mission_that_is_missing_or_blank_starts_nothing(desk):
    """B-8, O-27."""
    calls = [ask("  ", "clerk"), {"tool": "call_agent", "arguments": {}}, ask(7, "clerk")]
    played = await at_desk(desk, {"desk": [{"calls": calls}, "ok"]}).run("desk.ai")

    assert results(played) == ["(tool failed: Missing required parameter: mission)"] * 3
    assert played.started() == ["desk"]


async def test_the_parent_is_never_given_by_the_model(desk):
    """B-18: the runtime knows it."""
    calls = [ask("count", "clerk", _parent_session_id="run-1:sub_root_00000000")]
    played = await at_desk(desk, {"desk": [{"calls": calls}, "ok"]}).run("desk.ai")

    assert results(played) == ["(tool failed: _parent_session_id is set by the runtime; leave it out)"]
    assert played.started() == ["desk"]


async def test_a_strategy_is_one_of_four(desk):
    """B-6's names, in any case and with either hyphen."""
    calls = [ask("count", "clerk", planning_strategy=name) for name in ("Native-React", "guess")]
    played = await at_desk(desk, {"desk": [{"calls": calls}, "ok"], "clerk": ["3"]}).run("desk.ai")

    first, unknown = results(played)
    assert first["success"]
    assert "planning_strategy must be one of native_react, plan_and_execute, plan_and_react, spar" in unknown


async def test_an_unknown_specialist_is_an_error_that_names_the_known_and_no_id_holds_its_name(desk):
    """B-12, O-27, O-28."""
    said = {"desk": [{"calls": [ask("count", "../clerk:root")]}, "ok"]}
    played = await at_desk(desk, said).run("desk.ai")

    [returned] = results(played)
    assert returned["success"] is False
    assert returned["error"] == (
        "Sub-agent execution failed: there is no specialist '../clerk:root'; there are: clerk, law"
    )
    assert returned["error_type"] == "UnknownSpecialist"
    assert re.fullmatch(r"run-1:sub_custom_[0-9a-f]{8}", returned["session_id"])
    [failed] = played.events("sub_agent.failed")
    assert (failed.error, failed.error_type) == (returned["error"], "UnknownSpecialist")
    assert played.started() == ["desk"]


async def test_nobody_calls_itself_or_one_that_waits_for_it(desk):
    """Pains 1: self-spawn and ancestor-spawn are refused, and not even offered."""
    said = {
        "desk": [{"calls": [ask("go", "desk"), ask("go", "clerk")]}, "ok"],
        "clerk": [{"calls": [ask("back", "desk")]}, "no"],
    }
    played = await at_desk(desk, said).run("desk.ai")

    own, _ = results(played)
    [back] = results(played, "clerk")
    assert own["error_type"] == back["error_type"] == "RecursiveCall"
    spec = next(spec for spec in played.model.heard_from("clerk")[0].tools if spec.name == "call_agent")
    assert spec.parameters["properties"]["specialist"]["enum"] == ["law"]
    assert played.started() == ["desk", "clerk"]


async def test_two_agents_of_one_id_are_called_by_their_files(desk):
    """X-B1: every name of the enum means one agent."""
    files = {"desk": "", "a/clerk": "", "b/clerk": ""}
    said = {"desk": [{"calls": [ask("count", "b/clerk.ai")]}, "ok"], "clerk": ["3"]}
    played = await at_desk(desk, said, files).run("desk.ai")

    assert results(played)[0]["success"]
    assert played.events("session.started")[1].agent == "b/clerk.ai"
    assert played.events("sub_agent.spawned")[0].session.startswith("run-1:sub_clerk_")


async def test_a_failed_agent_is_a_result_and_its_caller_goes_on(desk):
    """B-11, B-13, B-58: error handling."""
    said = {"desk": [{"calls": [ask("count", "clerk")]}, "sorry"], "clerk": BROKEN}
    played = await at_desk(desk, said).run("desk.ai")

    [returned] = results(played)
    assert (returned["success"], returned["error_type"], returned["steps_taken"]) == (
        False,
        "SYSTEM_ERROR",
        1,
    )
    assert returned["error"] == returned["result"]
    assert returned["error"].startswith("desk -> clerk: no model answered after 1 attempt")
    assert returned["session_id"].startswith("run-1:sub_clerk_")
    assert played.result.success
    assert played.report == "sorry"


async def test_an_error_far_below_names_the_whole_way(desk):
    """B-24, B-56, B-58: nested."""
    said = {
        "desk": [{"calls": [ask("one", "clerk")]}, "ok"],
        "clerk": [{"calls": [ask("two", "law")]}, {"report": "law did not answer"}],
        "law": BROKEN,
    }
    played = await at_desk(desk, said).run("desk.ai")

    assert results(played, "clerk")[0]["error"].startswith("desk -> clerk -> law: ")
    assert results(played)[0]["result"] == "law did not answer"


async def test_transient_errors_of_a_called_agent_are_tried_again(desk):
    """B-52."""
    clerk = [{"attempts": [{"error": "overloaded"}, {"text": "3"}]}]
    at = at_desk(desk, {"desk": [{"calls": [ask("count", "clerk")]}, "ok"], "clerk": clerk})
    played = await at.run("desk", "hello", lasting=60)

    assert results(played)[0] | {"session_id": ""} == {
        "success": True,
        "result": "3",
        "session_id": "",
        "steps_taken": 1,
        "tool_calls": 0,
        "error": None,
    }


async def test_what_happens_to_a_called_agent_is_in_the_journal(desk):
    """B-20, B-22, B-44, X-16: the same events as with `agents:`, in the one stream of the run, with their path."""
    settings = calling("stream_sub_agent_events: true, sub_agent_max_steps: 4")
    said = {"desk": [{"calls": [ask("count", "clerk")]}, "ok"], "clerk": ["3"]}
    played = await at_desk(desk, said, settings=settings).run("desk.ai")

    child = [draft for draft in played.drafts if draft.span == "0/turn:1/call:1"]
    assert [draft.event.type for draft in child] == [
        "sub_agent.spawned",
        "sub_agent.executing",
        "handoff.requested",
        "handoff.accepted",
        "session.started",
        "llm.request",
        "llm.response",
        "session.completed",
        "handoff.completed",
        "sub_agent.completed",
    ]
    spawned, executing, requested = (draft.event for draft in child[:3])
    assert (spawned.parent, spawned.session, spawned.specialist) == ("run-1", child[0].session_id, "clerk")
    assert (spawned.mission_length, spawned.has_custom_definition, spawned.hierarchy_level) == (5, False, 1)
    assert executing.max_steps == 4
    assert (requested.kind, requested.sender, requested.receiver) == ("delegate", "desk", "clerk")
    assert (child[-1].event.success, child[-1].event.steps_taken) == (True, 1)
    own = [draft.event.type for draft in played.drafts if draft.span == "0"]
    assert own == [
        "run.started",
        "session.started",
        "llm.request",
        "llm.response",
        "tool.started",
        "tool.finished",
        "llm.request",
        "llm.response",
        "session.completed",
        "run.completed",
    ]


async def test_the_level_of_a_call_is_the_depth_of_its_caller_plus_one(desk):
    """B-21, B-24, O-25: three levels with a depth of four."""
    files = {"a": "", "b": "", "c": "", "d": ""}
    said = {
        "a": [{"calls": [ask("1", "b")]}, "A"],
        "b": [{"calls": [ask("2", "c")]}, "B"],
        "c": [{"calls": [ask("3", "d")]}, "C"],
        "d": ["D"],
    }
    played = await at_desk(desk, said, files, calling(limits="limits: {callDepth: 4}")).run("a.ai")

    assert [event.hierarchy_level for event in played.events("sub_agent.spawned")] == [1, 2, 3]
    assert played.events("sub_agent.spawned")[2].session.count(":sub_") == 3


async def test_a_call_deeper_than_the_limit_is_refused_with_the_limit(desk):
    """B-25, X-B7, O-25: by default the third level is the last."""
    files = {"a": "", "b": "", "c": "", "d": ""}
    said = {
        "a": [{"calls": [ask("1", "b")]}, "A"],
        "b": [{"calls": [ask("2", "c")]}, "B"],
        "c": [{"calls": [ask("3", "d")]}, "C"],
    }
    played = await at_desk(desk, said, files).run("a.ai")

    [refused] = results(played, "c")
    assert refused["error"] == "Sub-agent execution failed: not allowed: call depth 3 (limits.callDepth)"
    assert refused["error_type"] == "LimitExceeded"
    assert played.started() == ["a", "b", "c"]


async def test_agents_that_call_each_other_without_end_are_stopped_at_the_depth_limit(desk):
    """O-34, pains 1: recursion on purpose goes through agents made at run time, and ends."""
    again = {"system_prompt": "Call yourself again.", "tool_allowlist": ["call_agent"]}
    forever = {"calls": [ask("again", agent_definition=again)]}
    said = {"desk": [forever, "enough"], "custom": [forever, {"report": "enough"}]}
    played = await at_desk(desk, said).run("desk.ai")

    assert played.started() == ["desk", "custom", "custom"]
    assert played.report == "enough"


async def test_children_of_one_parent_and_of_the_whole_run_are_counted_before_they_start(desk):
    """Pains 1: breadth is bounded like depth."""
    calls = [{"calls": [ask("count", "clerk")] * 4}, "ok"]
    limits = "limits: {childrenPerParent: 2}"
    narrow = await at_desk(desk, {"desk": calls, "clerk": ["3"]}, settings=calling(limits=limits)).run(
        "desk.ai"
    )
    assert [returned["success"] for returned in results(narrow)] == [True, True, False, False]
    assert "limits.childrenPerParent" in results(narrow)[3]["error"]

    limits = "budget: {descendants: 3}"
    few = await at_desk(desk, {"desk": calls, "clerk": ["3"]}, settings=calling(limits=limits)).run("desk.ai")
    assert sum(returned["success"] for returned in results(few)) == 3
    assert "3 descendants of the run" in results(few)[3]["error"]


async def test_calls_of_one_turn_run_together_and_one_failure_stops_no_other(desk):
    """B-28, B-29, B-54, B-58, pains 13: two wait for each other, a third fails."""
    files = FILES | {"bad": ""}
    said = {
        "desk": [{"calls": [ask("a", "clerk"), ask("b", "bad"), ask("c", "law")]}, "ok"],
        "clerk": [{"barrier": "both/2", "text": "3"}],
        "law": [{"barrier": "both/2", "text": "legal"}],
        "bad": BROKEN,
    }
    played = await at_desk(desk, said, files).run("desk.ai")

    assert [(returned["success"], returned["result"]) for returned in results(played)][::2] == [
        (True, "3"),
        (True, "legal"),
    ]
    assert results(played)[1]["success"] is False


async def test_a_call_reaches_the_model_of_its_agent_at_once(desk):
    """B-53: far below two seconds."""
    at = at_desk(desk, {"desk": [{"calls": [ask("a", "clerk")]}, "ok"], "clerk": ["3"]})
    began = time.process_time()
    await at.run("desk.ai")

    assert time.process_time() - began < 2


async def test_twenty_children_each_say_their_own_word_and_none_hears_another(desk):
    """B-26, B-30, B-55, B-58: session isolation."""
    words = [f"token-{number:02d}-{number * 7919}" for number in range(20)]
    files = {"desk": "maxToolCallsPerTurn: 20", "clerk": "tools: [look]"}
    rules = [{"when": word, "text": f"I say {word}"} for word in words]
    said = {"desk": [{"calls": [ask(word, "clerk") for word in words]}, "ok"], "clerk": {"rules": rules}}
    played = await at_desk(desk, said, files).run("desk.ai")

    assert [returned["result"] for returned in results(played)] == [f"I say {word}" for word in words]
    for request in played.model.heard_from("clerk"):
        seen = " ".join(message.text for message in request.messages)
        assert sum(word in seen for word in words) == 1
    assert len({request.session for request in played.model.heard_from("clerk")}) == 20


async def test_a_called_agent_has_the_tools_of_its_file_and_none_of_its_caller(desk):
    """B-27, O-21: files grant."""
    played = await at_desk(desk, {"desk": [{"calls": [ask("count", "clerk")]}, "ok"], "clerk": ["3"]}).run(
        "desk.ai"
    )

    assert "look" in played.offered("desk")
    assert "look" not in played.offered("clerk")


async def test_a_called_agent_takes_no_more_steps_than_the_settings_or_its_caller(desk):
    """B-38, B-45, X-B6, B-51: the least of the three limits."""
    files = {"desk": "maxTurns: 5", "clerk": "maxTurns: 40\ntools: [look]", "law": "maxTurns: 2"}
    calls = [{"calls": [ask("a", "clerk"), ask("b", "law")]}, "ok"]
    said = {"desk": calls, "clerk": ["3"], "law": ["x"]}

    by_caller = await at_desk(desk, said, files).run("desk.ai")
    assert [event.max_steps for event in by_caller.events("sub_agent.executing")] == [5, 2]

    endless = {"turns": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}], "repeat": True}
    settings = calling("sub_agent_max_steps: 3")
    stopped = await at_desk(desk, said | {"clerk": endless}, files, settings).run("desk.ai")
    assert results(stopped)[0]["steps_taken"] == 3
    assert results(stopped)[0]["error_type"] == "MAX_TURNS"


async def test_nothing_of_a_called_agent_is_left_behind(desk):
    """B-14: after success and after failure."""
    said = {"desk": [{"calls": [ask("a", "clerk"), ask("b", "law")]}, "ok"], "clerk": ["3"], "law": BROKEN}
    at = at_desk(desk, said)
    async with at.open() as moot:
        await moot.run("clerk", "hello")
        before = at_work()
        at.identity = RunIdentity("run-2", "another seed")
        played = await at.played(await moot.run("desk", "hello"))

        assert [returned["success"] for returned in results(played)] == [True, False]
        assert at_work() == before


def at_work():
    """The tasks that nobody has ended."""
    return {task for task in asyncio.all_tasks() if not task.done() and not task.cancelling()}


async def test_a_called_agent_runs_with_everything_its_file_declares(desk):
    """X-16: one way in, whichever tool it was called with."""
    files = {"desk": "", "clerk": "advisors: [law.ai]\nhandoff: editor.ai", "law": "", "editor": ""}
    said = {
        "desk": [{"calls": [ask("a", "clerk")]}, "ok"],
        "law": ["l"],
        "clerk": ["c"],
        "editor": ["edited"],
    }
    played = await at_desk(desk, said, files).run("desk.ai")

    assert results(played)[0]["result"] == "edited"
    assert played.result.op_tree.turns[0].ops[1].child_session.agent_id == "clerk"


async def test_a_run_with_calls_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: agents made at run time are made again from the recorded call."""
    made = {"system_prompt": "You are a tax adviser.", "tool_allowlist": ["look"]}
    peek = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
    said = {
        "desk": [
            {"calls": [ask("a", "clerk"), ask("tax", agent_definition=made), ask("x", "nobody")]},
            {"calls": [ask("b", "law"), ask("general")]},
            "done",
        ],
        "clerk": [{"calls": [ask("deeper", "law")]}, "3"],
        "law": ["legal"],
        "custom": [peek, "taxed"],
    }
    whole = await at_desk(desk, said).run_cut_anywhere("desk.ai")
    assert whole.report == "done"


async def test_a_result_that_is_too_long_is_cut_and_what_is_around_it_stays_whole(desk):
    """B-40, pains 16: 5,000 characters come through, 20,000 do not."""
    for length, whole in ((5_000, True), (20_000, False)):
        said = {"desk": [{"calls": [ask("a", "clerk")]}, "ok"], "clerk": [{"report": "x" * length}]}
        at = at_desk(desk, said)
        played = await at.run("desk.ai")

        [returned] = results(played)
        assert (returned["result"] == "x" * length) is whole
        if not whole:
            assert await at.journal.artifact(returned["artifact"]) == b"x" * length
            assert len(played.events("tool.finished")[0].text) <= 12_288
