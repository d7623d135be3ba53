"""`call_agents_parallel`: several missions at once."""

import asyncio

import pytest

from tests.fakes import fake
from tests.orchestration.calling import ask_all, calling, results

FILES = {"desk": "", "clerk": "", "bad": ""}
BROKEN = [{"error": {"message": "down", "retryable": False}}]
COUNT = {"mission": "count", "specialist": "clerk"}


def at_desk(desk, script, settings=None, files=FILES):
    return desk(files, script, settings=settings or calling())


async def test_results_stand_in_the_order_of_the_missions_and_a_failure_stops_no_other(desk):
    """B-28, B-29, pains 13: whoever is first; wrong missions fail alone, in their place."""
    missions = [
        {"mission": "slow", "specialist": "clerk"},
        {"mission": "fail", "specialist": "bad"},
        {"mission": " "},
        {"mission": "x", "specialist": "nobody"},
        {"mission": "quick", "specialist": "clerk"},
    ]
    rules = [{"when": "slow", "delay": "1m", "text": "S"}, {"when": "quick", "text": "Q"}]
    said = {"desk": [{"calls": [ask_all(*missions)]}, "ok"], "clerk": {"rules": rules}, "bad": BROKEN}
    at = at_desk(desk, said)
    played = await at.run("desk", "hello", lasting=60)

    [together] = results(played)
    assert (together["success"], together["total"], together["succeeded"], together["failed"]) == (
        False,
        5,
        2,
        3,
    )
    slow, failed, blank, unknown, quick = together["results"]
    assert (slow["result"], quick["result"]) == ("S", "Q")
    assert "down" in failed["error"]
    assert blank["error"] == "Missing required parameter: mission"
    assert unknown["error_type"] == "UnknownSpecialist"


async def test_no_more_run_at_once_than_asked_for(desk):
    """B-28: three by default; the fourth begins when one of them has ended."""
    rules = [{"when": f"m{number}", "delay": "1m", "text": "x"} for number in range(4)]
    missions = [{"mission": f"m{number}", "specialist": "clerk"} for number in range(4)]
    for most, seen in (({}, 3), ({"max_concurrency": 1}, 1), ({"max_concurrency": 4}, 4)):
        said = {"desk": [{"calls": [ask_all(*missions, **most)]}, "ok"], "clerk": {"rules": rules}}
        at = at_desk(desk, said)
        async with at.open() as moot:
            running = asyncio.ensure_future(moot.run("desk", "hello"))
            await at.clock.advance(30)
            assert len(at.model.heard_from("clerk")) == seen
            await at.clock.advance(300)
            assert (await running).success


@pytest.mark.parametrize(("needed", "success"), [(1, True), (2, False)])
async def test_how_many_must_succeed_can_be_said(desk, needed, success):
    """Pains 13: `min_success`."""
    call = ask_all(COUNT, {"mission": "fail", "specialist": "bad"}, min_success=needed)
    played = await at_desk(desk, {"desk": [{"calls": [call]}, "ok"], "clerk": ["3"], "bad": BROKEN}).run(
        "desk.ai"
    )

    assert results(played)[0]["success"] is success


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, "Missing required parameter: missions"),
        ({"missions": []}, "Missing required parameter: missions"),
        ({"missions": [COUNT], "max_concurrency": 0}, "max_concurrency must be at least 1, not 0"),
        ({"missions": [COUNT], "min_success": 0}, "min_success must be at least 1, not 0"),
        (
            {"missions": [COUNT], "_parent_session_id": "x"},
            "_parent_session_id is set by the runtime; leave it out",
        ),
        ({"missions": "count"}, "Expected `array`, got `str` - at `$.missions`"),
    ],
)
async def test_wrong_arguments_start_nothing(desk, arguments, wrong):
    """B-8's rule for several."""
    call = {"tool": "call_agents_parallel", "arguments": arguments}
    played = await at_desk(desk, {"desk": [{"calls": [call]}, "ok"]}).run("desk.ai")

    assert results(played) == [f"(tool failed: {wrong})"]
    assert played.started() == ["desk"]


async def test_twenty_missions_under_five_requests_make_five_requests(desk):
    """O-33, B-30: one of the root, three children, one closing request; the others are told which limit it was."""
    call = ask_all(*[COUNT] * 20, max_concurrency=20)
    said = {"desk": [{"calls": [call]}, {"report": "as far as it went"}], "clerk": ["3"]}
    played = await at_desk(desk, said, calling(limits="budget: {requests: 5}")).run("desk.ai")

    assert len(played.model.heard) == 5
    assert played.report == "as far as it went"
    [together] = results(played)
    assert (together["succeeded"], together["failed"]) == (3, 17)
    assert sum("5 requests of the run" in (each["error"] or "") for each in together["results"]) == 17


async def test_twenty_missions_under_three_thousand_tokens_leave_the_root_its_last_word(desk):
    """O-33, B-30, pains 2: at least one runs, the root says what happened, and no token is spent beyond the limit."""
    call = ask_all(*[COUNT] * 20, max_concurrency=20)
    clerk = [{"text": "3", "usage": {"tokensIn": 900, "tokensOut": 100}}]
    said = {"desk": [{"calls": [call]}, {"report": "as far as it went"}], "clerk": clerk}
    played = await at_desk(desk, said, calling(limits="budget: {tokens: 3000}")).run("desk.ai")

    assert played.report == "as far as it went"
    [together] = results(played)
    assert together["succeeded"] >= 1
    assert {each["error"] for each in together["results"][1:]} == {
        "desk -> clerk: budget exceeded: 3000 tokens of the run"
    }
    assert played.result.totals.tokens_in + played.result.totals.tokens_out <= 3000


async def test_children_of_one_parent_are_counted_over_all_its_calls(desk):
    """Pains 1: a batch is no way around `limits.childrenPerParent`."""
    said = {"desk": [{"calls": [ask_all(COUNT, COUNT), ask_all(COUNT, COUNT)]}, "ok"], "clerk": ["3"]}
    played = await at_desk(desk, said, calling(limits="limits: {childrenPerParent: 3}")).run("desk.ai")

    assert sum(together["succeeded"] for together in results(played)) == 3
    assert played.started().count("clerk") == 3


async def test_each_mission_has_a_place_of_its_own_in_the_tree(desk):
    """B-22, B-23: below the call, as a called agent."""
    played = await at_desk(desk, {"desk": [{"calls": [ask_all(COUNT, COUNT)]}, "ok"], "clerk": ["3"]}).run(
        "desk.ai"
    )

    spans = {draft.span for draft in played.drafts if draft.agent_id == "clerk"}
    assert spans == {"0/turn:1/call:1/mission:1", "0/turn:1/call:1/mission:2"}
    ops = played.result.op_tree.turns[0].ops
    assert [(op.kind, op.name) for op in ops] == [
        ("llm", "scripted/any"),
        ("tool", "call_agents_parallel"),
        ("session", "clerk"),
        ("session", "clerk"),
    ]
    assert played.result.op_tree.totals.agents_run == 3


async def test_a_batch_cut_after_any_event_continues_to_the_same_end(desk):
    """DESIGN 4: no mission runs twice, none takes another's result."""
    missions = [COUNT, {"mission": "fail", "specialist": "bad"}, {"mission": "general"}, {"mission": ""}]
    said = {
        "desk": [{"calls": [ask_all(*missions, max_concurrency=2)]}, "done"],
        "clerk": ["3"],
        "bad": BROKEN,
        "custom": ["g"],
    }
    whole = await at_desk(desk, said).run_cut_anywhere("desk.ai")
    assert results(whole)[0]["succeeded"] == 2


async def test_long_results_are_cut_one_by_one_and_stay_aligned(desk):
    """Pains 13, pains 16: the whole of each is kept, and what the caller reads is still JSON."""
    missions = [{"mission": "long", "specialist": "clerk"}, COUNT, {"mission": "long", "specialist": "clerk"}]
    long = 'She said "no".\n' * 1000
    rules = [{"when": "long", "report": long}, {"when": "count", "report": "3"}]
    at = at_desk(desk, {"desk": [{"calls": [ask_all(*missions)]}, "ok"], "clerk": {"rules": rules}})
    played = await at.run("desk.ai")

    first, short, last = results(played)[0]["results"]
    assert short["result"] == "3"
    for each in (first, last):
        assert each["success"]
        assert "more bytes left out; the whole result is artifact" in each["result"]
        assert await at.journal.artifact(each["artifact"]) == long.encode()
    assert len(played.events("tool.finished")[0].text.encode()) <= 12_288


async def test_cancelling_reaches_every_mission(desk):
    """A-45, B-14: also those that wait for their turn never begin."""
    call = ask_all(*[COUNT] * 5, max_concurrency=2)
    at = at_desk(desk, {"desk": [{"calls": [call]}, "x"], "clerk": [{"delay": "1h", "text": "late"}]})
    played = await at.cancelled("desk")

    assert played.result.status == "cancelled"
    assert len(played.events("session.cancelled")) == len(played.started()) == 3
    assert len(played.model.heard_from("clerk")) == 2


async def test_a_mission_that_waits_for_a_person_parks_the_run_when_the_others_are_done(desk):
    """O-22, B-13: waiting is no failure of a child."""
    send = fake("send(to)", "sent", effect="once", access="write")
    files = {"desk": "", "clerk": "", "post": "tools: [send]"}
    missions = [{"mission": "send", "specialist": "post"}, COUNT]
    said = {
        "desk": [{"calls": [ask_all(*missions)]}, "ok"],
        "post": [{"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "sent"],
        "clerk": ["3"],
    }
    whole = await desk(files, said, settings=calling(), tools=[send]).run("desk.ai")
    cut = next(
        n for n, d in enumerate(whole.drafts, 1) if d.agent_id == "post" and d.event.type == "tool.started"
    )
    again = desk(files, said, settings=calling(), tools=[send])
    played = await again.continued(whole.drafts[:cut])

    assert played.result.status == "waiting"
    assert [(item.kind, item.span) for item in played.result.inbox] == [
        ("in_doubt", "0/turn:1/call:1/mission:1")
    ]
    assert "sub_agent.completed" in [d.event.type for d in played.drafts if d.agent_id == "clerk"]
    assert played.events("sub_agent.failed") == []
