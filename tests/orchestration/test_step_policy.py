"""A run that carries out a step of a plan: what the step may do holds for every agent of the run."""

import pytest

from folkmoot.coordination.plan_service import errand_for
from folkmoot.coordination.plans import (
    BudgetWish,
    PlanWish,
    PolicyWish,
    StepWish,
    approve,
)
from folkmoot.coordination.record_store import Author
from folkmoot.domain.errand import Errand
from folkmoot.domain.gate import StepBudget, StepPolicy
from tests.desk import SETTINGS
from tests.fakes import fake

ANN = Author("ann")
ASK_CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "r"}}
CHAIN = {"desk": "agents: [clerk.ai]\ntools: [save, look]", "clerk": "tools: [save, look, send]"}


def save(path):
    return {"tool": "save", "arguments": {"path": path, "content": "x"}}


class Disk:
    """Tools that remember what they really did."""

    def __init__(self, does=None):
        self.saved = []
        write = {"effect": "keyed", "access": "write", "asks": "medium"}
        save = fake("save(path, content)", "saved {path}", calls=self.saved, **write)
        look = fake("look", "seen", does=does)
        send = fake("send(to)", "sent", effect="once", access="egress", calls=self.saved)
        self.tools = [save, look, send]


def errand(**policy):
    return Errand(plan="plan_1", step="s1", policy=StepPolicy(**policy))


async def carried_out(at, errand, answer=None, request="do it"):
    async with at.open() as moot:
        result = await moot.run("desk", request, errand=errand, answer=answer)
        assert (await moot.replay(result.run_id)).divergence == ""
    return await at.played(result)


async def yes(item):
    return item.approve("ann")


def refusals(played):
    return [
        (draft.agent_id, draft.event.tool, draft.event.code)
        for draft in played.drafts
        if draft.event.type == "tool.failed"
    ]


async def test_a_tool_that_the_step_does_not_list_is_neither_offered_nor_made_for_any_agent_of_the_run(desk):
    """D-23: in the root and in the agent that it calls."""
    disk = Disk()
    script = {
        "desk": [{"calls": [save("a"), ASK_CLERK]}, "ok"],
        "clerk": [{"calls": [save("b"), {"tool": "look"}]}, "ok"],
    }
    played = await carried_out(desk(CHAIN, script, tools=disk.tools), errand(tools=("look", "agent.*")))

    assert disk.saved == []
    assert refusals(played) == [("desk", "save", "policy"), ("clerk", "save", "policy")]
    assert played.offered("desk") == ["look", "agent__clerk", "agent__final_report"]
    assert played.offered("clerk") == ["look", "agent__final_report"]
    assert "its tools: look, agent.*" in played.events("tool.failed")[0].text


async def test_a_step_stops_with_a_reason_when_it_would_change_too_many_files(desk):
    """D-25: counted over all agents of the run; what it may change it still changes."""
    disk = Disk()
    script = {
        "desk": [{"calls": [save("a"), ASK_CLERK]}, {"calls": [save("a"), save("d")]}, "never asked"],
        "clerk": [{"calls": [save("./a"), save("b"), save("c")]}, "never asked"],
    }
    at = desk(CHAIN, script, tools=disk.tools, settings=SETTINGS + "gate: {taint: off}")
    played = await carried_out(at, errand(approval="auto", budget=StepBudget(files_changed=2)))

    assert disk.saved == ["a", "./a", "b", "a"]
    limit = "the step may change 2 files, and this would be file 3"
    assert [event.limit for event in played.events("budget.exceeded")] == [limit, limit]
    assert (played.result.status, played.result.stop_reason) == ("failed", "BUDGET_EXCEEDED")
    assert played.result.error == f"budget exceeded: {limit}"


async def test_calls_of_one_answer_that_need_a_word_count_against_the_files_before_anybody_is_asked(desk):
    """D-25: what was refused is not put before a person."""
    disk = Disk()
    at = desk(CHAIN, {"desk": [{"calls": [save("a"), save("b")]}, "no"]}, tools=disk.tools)
    played = await carried_out(at, errand(budget=StepBudget(files_changed=1)), yes)

    assert [asked.arguments["path"] for asked in played.events("approval.requested")] == ["a"]
    assert disk.saved == ["a"]
    assert played.result.stop_reason == "BUDGET_EXCEEDED"


async def test_a_step_stops_with_a_reason_when_its_tokens_are_spent(desk):
    """D-25: the called agent's tokens count too, and nothing is sent that could exceed them."""
    script = {
        "desk": [{"calls": [ASK_CLERK], "usage": {"tokensIn": 900, "tokensOut": 100}}, "never asked"],
        "clerk": [{"text": "ok", "usage": {"tokensIn": 1900, "tokensOut": 100}}],
    }
    at = desk(CHAIN, script, tools=Disk().tools)
    played = await carried_out(at, errand(budget=StepBudget(tokens=3500)))

    assert played.result.stop_reason == "BUDGET_EXCEEDED"
    assert "3500 tokens of step s1" in played.result.error


async def test_a_call_is_refused_when_an_answer_took_more_tokens_than_the_step_has(desk):
    """D-25: a provider may count more than was reserved."""
    disk = Disk()
    script = {"desk": [{"calls": [save("a")], "usage": {"tokensIn": 9000, "tokensOut": 100}}, "no"]}
    at = desk(CHAIN, script, tools=disk.tools)
    played = await carried_out(at, errand(approval="auto", budget=StepBudget(tokens=6000)))

    assert disk.saved == []
    assert played.result.error == "budget exceeded: the step has 6000 tokens, and 9100 are spent"


async def test_a_step_stops_with_a_reason_when_its_time_is_over(desk):
    """D-25: by the fake clock; a call under way is cut off, and no other request is made."""
    script = {"desk": [{"calls": [{"tool": "look"}]}, {"calls": [{"tool": "look"}]}, "never asked"]}
    at = desk(CHAIN, script)
    at.tools = Disk(lambda: at.clock.advance(40)).tools
    played = await carried_out(at, errand(budget=StepBudget(time=60.0)))

    assert (played.result.stop_reason, played.result.error) == (
        "BUDGET_EXCEEDED",
        "budget exceeded: 60 s wall time of step s1",
    )
    assert [event.text for event in played.events("tool.failed")] == ["(tool failed: timeout)"]
    assert len(played.model.heard) == 2


async def test_a_run_under_a_budget_of_files_cut_after_any_event_ends_the_same(desk):
    """D-25, DESIGN 4: what was changed before the cut is counted."""
    script = {
        "desk": [{"calls": [save("a"), ASK_CLERK]}, "ok"],
        "clerk": [{"calls": [save("b"), save("c")]}, "never asked"],
    }
    policy = errand(approval="auto", budget=StepBudget(files_changed=2))
    whole = await desk(CHAIN, script, tools=Disk().tools).run_cut_anywhere("desk", errand=policy)

    assert "budget.exceeded" in whole.types


@pytest.mark.parametrize(
    ("agreed", "saved", "refused"),
    [
        (False, [], [("desk", "save", "policy"), ("clerk", "save", "policy"), ("clerk", "send", "policy")]),
        (True, ["a", "b"], [("clerk", "send", "policy")]),
    ],
)
async def test_nobody_writes_before_the_plan_is_approved_and_then_only_with_the_tools_it_requests(
    desk, agreed, saved, refused
):
    """E-68: while a plan waits, its agents can only read, in the whole run; then `save`, but not `send`."""
    disk = Disk()
    script = {
        "desk": [{"calls": [save("a"), {"tool": "look"}, ASK_CLERK]}, "ok"],
        "clerk": [{"calls": [save("b"), {"tool": "send", "arguments": {"to": "x"}}]}, "ok"],
    }
    at = desk(CHAIN, script, tools=disk.tools)
    step = StepWish("do it", "desk", "done", tool_policy=PolicyWish(approval="auto"))
    async with at.open() as moot:
        plan = await moot.moot.plans.draft(
            ANN, PlanWish("t", (step,), tools_requested=("save",)), chance="1", submitted=True
        )
        if agreed:
            plan = await moot.moot.plans.change(plan.id, ANN, approve, committed=True)
    played = await carried_out(at, errand_for(plan, "s1"))

    assert disk.saved == saved
    assert refusals(played) == refused
    assert played.events("run.started")[0].errand.plan == plan.id


async def test_a_step_says_what_it_may_do_in_words(desk):
    """U-2: from what was wished to what the gate goes by."""
    budget = BudgetWish(time="10m", tokens=500, files_changed=3)
    step = StepWish("do", tool_policy=PolicyWish(("save",), "ask", budget))
    async with desk(CHAIN, {}, tools=Disk().tools).open() as moot:
        plan = await moot.moot.plans.draft(ANN, PlanWish("t", (step,), tools_requested=("send",)), chance="1")

    assert errand_for(plan, "s1").policy == StepPolicy(("save",), "ask", StepBudget(600.0, 500, 3), acting=())
    assert plan.requested == ("send", "save")


async def test_a_run_without_an_errand_is_limited_by_nothing_of_this(desk):
    played = await desk(CHAIN, {"desk": ["ok"]}, tools=Disk().tools, settings=SETTINGS).run("desk")

    assert played.offered("desk") == ["save", "look", "agent__clerk", "agent__final_report"]
