"""How an agent goes about its work: each strategy sends something else over the wire."""

import json

import pytest

from tests.desk import SETTINGS, blocks, look
from tests.orchestration.calling import ask, calling, results

STEP = {
    "rationale": "somebody must",
    "expected_outputs": ["a number"],
    "stop_condition": "it is known",
}
PLAN = json.dumps({"steps": [{"action_type": "COUNT", **STEP}, {"action_type": "CHECK", **STEP}]})
LOOK = {"calls": [{"tool": "look", "arguments": {"where": "books"}}]}
PLANNED = ("plan_and_execute", "plan_and_react", "spar")


def script(**more):
    return {
        "clerk/planner": [PLAN],
        "clerk/step": [LOOK, "two"],
        "clerk/executor": [LOOK, {"report": "counted"}],
        "clerk/sense": ["nothing is known yet"],
        "clerk/reflect": ['{"done": true}'],
        "clerk": [LOOK, {"report": "counted"}],
        **{f"clerk/{part}": turns for part, turns in more.items()},
    }


def at_clerk(desk, strategy, said=None, more="", **rest):
    return desk(
        {"clerk": f"planningStrategy: {strategy}\ntools: [look]\n{more}"},
        said or script(),
        tools=[look],
        **rest,
    )


def wire(played):
    """What went over the wire, request by request: the part of the work, and the tools."""
    return [
        (request.part, *(spec.name.rpartition("__")[2] for spec in request.tools))
        for request in played.model.heard
    ]


def read_by(played, part, nth=0):
    request = [request for request in played.model.heard if request.part == part and request.turn == 1][nth]
    return next(message.text for message in request.messages if message.role == "user")


@pytest.mark.parametrize(
    ("strategy", "requests"),
    [
        ("native_react", [("", "look", "final_report")] * 2),
        (
            "plan_and_execute",
            [
                ("planner",),
                *[("step", "look", "final_report")] * 4,
                ("executor", "final_report"),
            ],
        ),
        (
            "plan_and_react",
            [("planner",), *[("executor", "look", "update", "final_report")] * 2],
        ),
        (
            "spar",
            [("sense",), ("planner",), *[("executor", "look", "final_report")] * 2, ("reflect",)],
        ),
    ],
)
async def test_each_strategy_sends_something_else_over_the_wire(desk, strategy, requests):
    """B-6."""
    said = script(executor=["counted"]) if strategy == "plan_and_execute" else script()
    played = await at_clerk(desk, strategy, said).run("clerk")

    assert wire(played) == requests
    assert played.report == "counted"
    assert played.result.totals.agents_run == 1


@pytest.mark.parametrize("strategy", PLANNED)
async def test_a_plan_comes_before_anything_is_done(desk, strategy):
    """B-6, U-2: one and the same plan, whatever asked for it."""
    played = await at_clerk(desk, strategy).run("clerk", "How many?")

    assert played.types.index("plan.created") < played.types.index("tool.started")
    [created] = played.events("plan.created")
    assert (created.strategy, created.plan.goal, created.plan.author) == (strategy, "How many?", "clerk")
    assert [(step.id, step.order, step.action_type) for step in created.plan.steps] == [
        ("s1", 1, "COUNT"),
        ("s2", 2, "CHECK"),
    ]
    [plan] = played.result.plans
    assert plan.status == "done"


async def test_each_step_begins_afresh_with_the_plan_and_the_results_so_far(desk):
    """B-6: no conversation grows over the whole plan."""
    played = await at_clerk(desk, "plan_and_execute", script(executor=["all counted"])).run(
        "clerk", "How many?"
    )

    first, second, last = (
        blocks(read_by(played, *which)) for which in (("step", 0), ("step", 1), ("executor", 0))
    )
    assert [tag for tag, _, _ in first] == ["original_user_request", "plan", "task"]
    assert "Do step s1 of the plan now" in first[-1][2]
    assert [(tag, by, text) for tag, by, text in second if tag == "result"] == [("result", "s1", "two")]
    assert [(by, text) for tag, by, text in last if tag == "result"] == [("s1", "two"), ("s2", "two")]
    steps = [draft.event for draft in played.drafts if draft.event.type.startswith("step.")]
    assert [(event.type, event.step) for event in steps] == [
        ("step.started", "s1"),
        ("step.completed", "s1"),
        ("step.started", "s2"),
        ("step.completed", "s2"),
    ]
    assert [step.status for step in played.result.plans[0].plan.steps] == ["done", "done"]


async def test_a_step_that_fails_is_the_last_and_the_conclusion_reads_why(desk):
    said = script(step=[{"error": {"message": "no paper", "retryable": False}}], executor=["could not count"])
    played = await at_clerk(desk, "plan_and_execute", said).run("clerk")

    assert played.report == "could not count"
    [failed] = played.events("step.completed")
    assert (failed.step, failed.success) == ("s1", False)
    assert "no paper" in next(text for tag, _, text in blocks(read_by(played, "executor")) if tag == "result")


async def test_a_plan_at_hand_is_marked_and_added_to_on_the_way(desk):
    """B-6, U-2: `plan_updated`."""

    def update(**given):
        return {"tool": "plan.update", "arguments": given}

    marking = {
        "calls": [
            update(step="s1", status="in_progress"),
            update(step="s1", status="done", note="two"),
            update(step="s9"),
            update(add=["Ask the boss"], note="unclear"),
        ]
    }
    played = await at_clerk(desk, "plan_and_react", script(executor=[marking, {"report": "counted"}])).run(
        "clerk"
    )

    request = played.model.heard[-1]
    answers = [message.text for message in request.messages if message.role == "tool"]
    assert answers[1] == "s1 done: COUNT\ns2 pending: CHECK"
    assert answers[2] == "(tool failed: there is no step 's9'; there are s1, s2)"
    assert answers[3] == "s1 done: COUNT\ns2 pending: CHECK\ns3 pending: Ask the boss"
    stands = played.result.plans[0].plan
    assert [(step.id, step.status) for step in stands.steps] == [
        ("s1", "done"),
        ("s2", "pending"),
        ("s3", "pending"),
    ]
    assert [event.reason for event in played.events("plan.updated")] == ["unclear"]


async def test_spar_goes_another_round_with_what_it_learned_and_never_a_fourth(desk):
    """B-6: what was found wanting is read by everyone in the next round."""
    said = script(reflect=['{"done": false, "advice": "look twice"}'])
    played = await at_clerk(desk, "spar", said).run("clerk")

    assert [part for part, *_ in wire(played) if part in ("sense", "reflect")] == [
        "sense",
        "reflect",
        "sense",
        "reflect",
        "sense",
    ]
    second = blocks(read_by(played, "planner", 1))
    assert [(tag, text) for tag, _, text in second[1:]] == [
        ("result", "counted"),
        ("reflection", "look twice"),
        ("situation", "nothing is known yet"),
    ]
    assert len({event.plan.id for event in played.events("plan.created")}) == 3
    assert played.report == "counted"


@pytest.mark.parametrize("said", ["I am content.", '{"done": "perhaps"}', "{", ""])
async def test_a_reflection_that_says_nothing_clear_ends_it(desk, said):
    played = await at_clerk(desk, "spar", script(reflect={"turns": [said], "repeat": True})).run("clerk")

    assert [part for part, *_ in wire(played)].count("sense") == 1
    assert played.report == "counted"


@pytest.mark.parametrize("strategy", PLANNED)
async def test_a_caller_chooses_the_strategy_and_reads_one_result(desk, strategy):
    """B-6: whatever the agent's own file says."""
    files = {"desk": "", "clerk": "tools: [look]"}
    said = {
        **script(executor=["counted"]),
        "desk": [{"calls": [ask("count", "clerk", planning_strategy=strategy)]}, "ok"],
    }
    played = await desk(files, said, settings=calling(), tools=[look]).run("desk")

    [result] = results(played)
    assert (result["success"], result["result"]) == (True, "counted")
    assert result["steps_taken"] == sum(request.agent == "clerk" for request in played.model.heard)
    assert [event.strategy for event in played.events("plan.created")] == [strategy]


@pytest.mark.parametrize("strategy", PLANNED)
async def test_no_plan_is_a_failure_that_says_so(desk, strategy):
    played = await at_clerk(desk, strategy, script(planner=["I would rather not."])).run("clerk")

    assert (played.result.status, played.result.stop_reason) == ("failed", "SYSTEM_ERROR")
    assert "no acceptable plan after 2 tries" in played.result.error


@pytest.mark.parametrize("strategy", PLANNED)
@pytest.mark.parametrize("requests", [1, 2, 3, 4])
async def test_every_strategy_stays_within_the_budget(desk, strategy, requests):
    """O-33."""
    settings = SETTINGS + f"budget: {{requests: {requests}}}\n"
    played = await at_clerk(desk, strategy, settings=settings).run("clerk")

    assert len(played.model.heard) <= requests
    if not played.result.success:
        assert played.result.stop_reason == "BUDGET_EXCEEDED"


@pytest.mark.parametrize("strategy", PLANNED)
async def test_a_planned_run_cut_after_any_event_continues_to_the_same_end(desk, strategy):
    """DESIGN 4."""
    said = script(reflect=['{"done": false, "advice": "once more"}'])
    whole = await at_clerk(desk, strategy, said).run_cut_anywhere("clerk")
    assert whole.result.success


async def test_the_strategy_is_a_setting_like_any_other(desk):
    """B-45: the file, `agents.defaults`, or a flag."""
    settings = SETTINGS + "agents: {defaults: {planningStrategy: plan_and_react}}\n"
    files = {"clerk": "tools: [look]", "plain": "planningStrategy: native_react"}
    at = desk(files, {**script(), "plain": ["hi"]}, settings=settings, tools=[look])

    assert (await at.run("clerk")).events("plan.created")
    at.model.heard.clear()
    async with at.open() as moot:
        assert moot.agent("plain").tuning.planning_strategy == "native_react"
