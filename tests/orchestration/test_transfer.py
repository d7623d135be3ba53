"""Routes and handoffs: who answers, what they read, and what a failure says."""

import json

import pytest

from folkmoot.views.optree import sessions
from tests.desk import blocks, look

CHAIN = {"a": "handoff: b.ai", "b": "handoff: c.ai", "c": "handoff: d.ai", "d": ""}
CHAIN_SAID = {"a": ["one"], "b": ["two"], "c": ["three"], "d": ["four"]}
ROUTER = {
    "desk": "router: {destinations: [billing.ai, legal/counsel.ai]}",
    "billing": "",
    "legal/counsel": "",
}
TO_BILLING = {"route": {"agent": "billing", "message": "a refund"}}


async def test_the_answer_of_a_handoff_is_the_answer_of_the_run(desk):
    """A-41, A-42."""
    played = await desk({"a": "handoff: b.ai", "b": ""}, {"a": ["draft"], "b": ["final"]}).run("a.ai")

    assert played.report == "final"
    assert played.result.final_agent_id == "b"


async def test_a_chain_of_four_ends_with_the_fourth(desk):
    """A-43, A-49: one handoff with sender, receiver and what passed over for each hop."""
    played = await desk(CHAIN, CHAIN_SAID).run("a.ai")

    assert played.report == "four"
    requested = played.events("handoff.requested")
    assert [(e.kind, e.sender, e.receiver) for e in requested] == [
        ("chain", "a", "b"),
        ("chain", "b", "c"),
        ("chain", "c", "d"),
    ]
    assert all(len(event.artifact_ids) == 1 for event in requested)
    assert len(played.events("handoff.completed")) == 3


async def test_the_next_agent_reads_the_users_own_request_and_the_report_before_it(desk):
    """A-38, A-40, O-3: in this order, the body alone, and the same request along the whole chain."""
    played = await desk(CHAIN, CHAIN_SAID).run("a.ai")

    for agent, before, text in (("b", "a", "one"), ("c", "b", "two"), ("d", "c", "three")):
        assert blocks(played.prompt(agent)) == [
            ("original_user_request", "", "I want my money back"),
            ("response", before, text),
        ]


async def test_advice_is_not_passed_on_as_the_users_request(desk):
    """A-40, A-107: advisors and handoff together."""
    files = {"a": "advisors: [law.ai]\nhandoff: b.ai", "law": "", "b": ""}
    played = await desk(files, {"law": ["advice"], "a": ["answer"], "b": ["done"]}).run("a.ai")

    assert blocks(played.prompt("b")) == [
        ("original_user_request", "", "I want my money back"),
        ("response", "a", "answer"),
    ]


async def test_a_json_report_is_passed_on_as_json(desk):
    """A-39."""
    files = {"a": "output: {format: json}\nhandoff: b.ai", "b": "input: {format: json}"}
    played = await desk(files, {"a": [{"report": {"sum": 3}}], "b": ["ok"]}).run("a.ai")

    assert json.loads(blocks(played.prompt("b"))[1][2]) == {"sum": 3}


async def test_a_stage_that_fails_stops_the_chain_and_is_named(desk):
    """A-27, A-44, A-107, O-15."""
    broken = [{"error": {"message": "down", "retryable": False}}]
    played = await desk(CHAIN, {**CHAIN_SAID, "b": broken}).run("a.ai")

    assert not played.result.success
    assert "handoff to 'b' failed (stage 2 of a -> b)" in played.result.error
    assert "down" in played.result.error
    assert played.started() == ["a", "b"]
    assert [event.receiver for event in played.events("handoff.rejected")] == ["b"]


DOWN = [{"error": {"message": "down", "retryable": False}}]
PLAN = json.dumps({"action_type": "STOP", "rationale": "r", "expected_outputs": ["o"], "stop_condition": "s"})


@pytest.mark.parametrize(
    ("files", "said", "named"),
    [
        ({"a": "handoff: b.ai", "b": ""}, {"a": DOWN}, "'a' failed (stage 1 of a -> b): "),
        ({"a": "router: {destinations: [b.ai]}", "b": ""}, {"a": DOWN}, "'a' failed (stage 1 of a): "),
        (
            {"a": "router: {destinations: [b.ai]}\nhandoff: c.ai", "b": "handoff: d.ai", "c": "", "d": ""},
            {"a": [{"route": "b"}], "b": ["x"], "d": DOWN},
            "handoff to 'd' failed (stage 3 of a -> b -> d): ",
        ),
        ({"a": "team: {members: [b.ai]}", "b": ""}, {"a": DOWN, "b": ["x"]}, "'a' failed (lead): "),
        (
            {"a": "team: {members: [b.ai], supervisor: c.ai}\nhandoff: b.ai", "b": "", "c": ""},
            {"b": ["x"], "c": DOWN},
            "'a' failed (lead 'c', stage 1 of a -> b): ",
        ),
        ({"a": "split: always"}, {"a": DOWN}, "'a' failed (planner): "),
        ({"a": "split: always"}, {"a/planner": [PLAN], "a/executor": DOWN}, "'a' failed (executor): "),
        (
            {"a": "handoff: b.ai", "b": "planningStrategy: plan_and_execute"},
            {"a": ["x"], "b/planner": [PLAN], "b/step": ["done"], "b/executor": DOWN},
            "handoff to 'b' failed (executor, stage 2 of a -> b): ",
        ),
        ({"a": "planningStrategy: spar"}, {"a": DOWN}, "'a' failed (sense): "),
        ({"a": ""}, {"a": DOWN}, "no model answered"),
    ],
)
async def test_the_error_names_the_agent_the_part_and_the_stage_that_failed(desk, files, said, named):
    """A-44, A-60, O-15, K-125: the first stage too, and the part of an agent that works in several."""
    played = await desk(files, said).run("a")

    assert played.result.error.startswith(named)
    assert "down" in played.result.error


async def test_stopping_the_run_stops_the_stage_under_way_and_those_after_it(desk):
    """A-45."""
    at = desk(CHAIN, {**CHAIN_SAID, "b": [{"delay": "1h", "text": "late"}]})
    played = await at.cancelled("a.ai", "enough")

    assert played.result.status == "cancelled"
    assert played.started() == ["a", "b"]
    assert played.types[-3:] == ["run.cancel_requested", "session.cancelled", "run.cancelled"]
    assert [event.reason for event in played.events("run.cancelled")] == ["enough"]


async def test_accounting_of_a_stage_says_that_a_handoff_triggered_it(desk):
    """A-26, A-46, A-48, A-104: the parent's conversation stays on top, everybody's account is appended."""
    played = await desk({"a": "handoff: b.ai", "b": ""}, {"a": ["draft"], "b": ["final"]}).run("a.ai")

    assert [(e.agent_id, e.chain_trigger) for e in played.result.accounting] == [
        ("a", None),
        ("b", "handoff"),
    ]
    assert played.result.conversation[-1]["text"] == "draft"
    assert played.events("session.started")[1].title == "handoff from a"


async def test_a_router_passes_the_request_on_and_asks_nothing_more(desk):
    """A-22, A-37, A-50, A-51, A-55, A-56: it may use tools before, and hears nothing after."""
    files = {**ROUTER, "desk": ROUTER["desk"] + "\ntools: [look]"}
    said = {
        "desk": [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}, TO_BILLING],
        "billing": ["paid"],
    }
    played = await desk(files, said, tools=[look]).run("desk.ai")

    assert played.report == "paid"
    assert played.result.final_agent_id == "billing"
    assert played.result.router_selection.agent == "billing"
    assert len(played.model.heard_from("desk")) == 2
    assert blocks(played.prompt("billing")) == [
        ("original_user_request", "", "I want my money back"),
        ("advisory", "desk", "a refund"),
    ]


REQUEST = ("original_user_request", "", "I want my money back")


@pytest.mark.parametrize("message", [{}, {"message": ""}, {"message": " \n"}])
async def test_a_route_without_a_message_passes_the_request_alone_in_its_block(desk, message):
    """A-37, K-124: a blank message counts as none, and the request has its block all the same."""
    said = {"desk": [{"route": {"agent": "billing", **message}}], "billing": ["paid"]}
    played = await desk(ROUTER, said).run("desk.ai")

    assert blocks(played.prompt("billing")) == [REQUEST]


async def test_every_kind_of_destination_reads_the_request_in_its_block(desk):
    """A-37, A-61, K-124: a router, a team and an agent in parts behind a router; only advisors read the bare text."""
    files = {
        "desk": "advisors: [law.ai]\nrouter: {destinations: [inner.ai]}",
        "inner": "advisors: [law.ai]\nrouter: {destinations: [team.ai, split.ai]}",
        "team": "team: {members: [coder.ai]}\nhandoff: split.ai",
        "split": "split: always",
        "law": "",
        "coder": "",
    }
    said = {"desk": [{"route": "inner"}], "law": ["by law"] * 2, "coder": ["c"], "team": ["t"]}
    said |= {"split/planner": [PLAN], "split/executor": ["done"]}
    team = await desk(files, said | {"inner": [{"route": "team"}]}).run("desk")
    split = await desk(files, said | {"inner": [{"route": "split"}]}).run("desk")

    assert (team.report, split.report) == ("done", "done")
    assert team.prompt("law", 0) == team.prompt("law", 1) == "I want my money back"
    assert blocks(team.prompt("inner")) == [REQUEST, ("advisory", "law", "by law")]
    assert blocks(team.prompt("coder")) == blocks(split.prompt("split")) == [REQUEST]
    assert blocks(split.prompt("split", 1)) == []  # the executor reads the plan, and no request
    assert [tag for tag, _, _ in blocks(team.prompt("team"))] == ["original_user_request", "broadcast"]
    assert blocks(team.prompt("split")) == [REQUEST, ("response", "team", "t")]


async def test_the_routers_tool_names_exactly_the_destinations_by_id(desk):
    """A-51, A-52, A-53, O-5."""
    played = await desk(ROUTER, {"desk": [TO_BILLING], "billing": ["paid"]}).run("desk.ai")

    spec = next(
        tool for tool in played.model.heard_from("desk")[0].tools if tool.name == "router__handoff-to"
    )
    assert spec.parameters["properties"]["agent"]["enum"] == ["billing", "counsel"]
    assert spec.parameters["required"] == ["agent"]
    assert spec.parameters["additionalProperties"] is False
    assert "router__handoff-to" not in played.offered("billing")


async def test_a_router_may_answer_itself(desk):
    """A-57."""
    played = await desk(ROUTER, {"desk": [{"report": "hello"}]}).run("desk.ai")

    assert played.report == "hello"
    assert played.started() == ["desk"]
    assert played.result.router_selection is None


async def test_a_wrong_destination_is_told_to_the_router_which_may_choose_again(desk):
    """A-59."""
    said = {"desk": [{"route": {"agent": "nobody"}}, TO_BILLING], "billing": ["paid"]}
    played = await desk(ROUTER, said).run("desk.ai")

    assert played.report == "paid"
    assert (
        "there is no destination 'nobody'; choose one of billing, counsel"
        in played.events("tool.failed")[0].text
    )
    assert played.started() == ["desk", "billing"]


async def test_on_its_last_turn_a_router_is_offered_its_two_exits(desk):
    """A-54."""
    files = {**ROUTER, "desk": ROUTER["desk"] + "\nmaxTurns: 1"}
    played = await desk(files, {"desk": [TO_BILLING], "billing": ["paid"]}).run("desk.ai")

    assert played.offered("desk") == ["agent__final_report", "router__handoff-to"]


async def test_a_destination_that_fails_fails_the_run_and_is_named(desk):
    """A-60."""
    broken = [{"error": {"message": "down", "retryable": False}}]
    played = await desk(ROUTER, {"desk": [TO_BILLING], "billing": broken}).run("desk.ai")

    assert not played.result.success
    assert "route to 'billing' failed (stage 2 of desk -> billing)" in played.result.error


async def test_a_router_that_never_chooses_ends_with_a_synthetic_report(desk):
    """A-60."""
    files = {**ROUTER, "desk": ROUTER["desk"] + "\nmaxTurns: 2"}
    played = await desk(files, {"desk": {"turns": [{"route": {"agent": "nobody"}}], "repeat": True}}).run(
        "desk"
    )

    assert played.result.stop_reason == "MAX_TURNS"
    assert played.result.final_report.metadata == {"reason": "max_turns_exhausted"}


async def test_a_routers_handoff_comes_after_the_agent_it_routed_to(desk):
    """A-28, A-29, A-107: routing never bypasses it."""
    files = {
        "desk": "advisors: [law.ai]\nrouter: {destinations: [billing.ai]}\nhandoff: editor.ai",
        "law": "",
        "billing": "handoff: clerk.ai",
        "clerk": "",
        "editor": "",
    }
    said = {"law": ["a"], "desk": [TO_BILLING], "billing": ["b"], "clerk": ["c"], "editor": ["d"]}
    played = await desk(files, said).run("desk.ai")

    assert played.started() == ["law", "desk", "billing", "clerk", "editor"]
    assert played.report == "d"
    assert blocks(played.prompt("editor"))[1] == ("response", "clerk", "c")


async def test_a_handoff_on_the_destination_runs_on_that_route_only(desk):
    """A-29."""
    files = {
        "desk": "router: {destinations: [billing.ai, legal.ai]}",
        "billing": "handoff: clerk.ai",
        "legal": "",
        "clerk": "",
    }
    said = {
        "desk": {"rules": [{"when": "sue", "route": {"agent": "legal"}}], "default": TO_BILLING},
        "billing": ["b"],
        "clerk": ["c"],
        "legal": ["l"],
    }
    assert (await desk(files, said).run("desk.ai", "I will sue")).started() == ["desk", "legal"]


async def test_a_router_that_answers_itself_still_hands_off(desk):
    """A-58."""
    files = {"desk": "router: {destinations: [billing.ai]}\nhandoff: editor.ai", "billing": "", "editor": ""}
    played = await desk(files, {"desk": [{"report": "hello"}], "editor": ["Hello."]}).run("desk.ai")

    assert played.started() == ["desk", "editor"]
    assert blocks(played.prompt("editor"))[1] == ("response", "desk", "hello")


async def test_patterns_nest(desk):
    """A-30: a router to a router to an agent with advisors that hands off."""
    files = {
        "one": "router: {destinations: [two.ai]}",
        "two": "router: {destinations: [three.ai]}",
        "three": "advisors: [law.ai]\nhandoff: four.ai",
        "law": "",
        "four": "",
    }
    said = {
        "one": [{"route": {"agent": "two", "message": "m1"}}],
        "two": [{"route": {"agent": "three", "message": "m2"}}],
        "three": ["3"],
        "law": ["by law"],
        "four": ["4"],
    }
    played = await desk(files, said).run("one.ai")

    assert played.report == "4"
    assert blocks(played.prompt("three")) == [
        ("original_user_request", "", "I want my money back"),
        ("advisory", "one", "m1"),
        ("advisory", "two", "m2"),
        ("advisory", "law", "by law"),
    ]
    paths = [node.call_path for node in sessions(played.result.op_tree)]
    assert "0/route:two/route:three/handoff:four" in paths
