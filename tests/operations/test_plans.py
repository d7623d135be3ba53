"""Every operation on plans does the same, refuses with the same code and records its actor in every interface."""

import pytest

from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination import plans as life
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.coordination.record_store import Author
from folkmoot.operations import plan_steps
from folkmoot.operations.plan_steps import (
    AcceptStep,
    BlockStep,
    CompleteStep,
    ReassignStep,
    ReopenStep,
    ResumeStep,
    StartStep,
)
from folkmoot.operations.plans import (
    ApprovePlan,
    CommitPlan,
    DraftPlan,
    ListPlans,
    RejectPlan,
    ReviewPlan,
    RevisePlan,
    ShowPlan,
    SubmitPlan,
)
from tests.operations.interfaces import Interfaces, assert_all_tried

FILES = {"coder": "role: lead", "tester": ""}


async def prepared(project):
    """A plan in each state; their ids."""
    desk, eve = project.moot.plans, Author("eve")
    step = StepWish("Write it", owner="coder", acceptance="It runs.")
    known = {}
    for name in ("draft", "submitted", "approved", "going"):
        known[name] = (await desk.draft(eve, PlanWish(name, (step,) * 5), chance=name)).id
    for name in ("submitted", "approved", "going"):
        await desk.change(known[name], eve, life.submit)
    await desk.change(known["approved"], eve, life.approve)
    await desk.change(known["going"], eve, life.approve, committed=True)
    for each in ("s1", "s2"):
        await desk.change(known["going"], eve, steps.start, each)
    await desk.change(known["going"], eve, steps.block, "s2", "no key")
    await desk.change(known["going"], eve, steps.complete, "s3", skipped=True)
    await desk.change(known["going"], eve, steps.reassign, "s4", "tester", "knows it")
    return known


def of(kind, length=None):
    return lambda known: known[kind][:length]


DRAFT, SUBMITTED, APPROVED = {"plan": of("draft")}, {"plan": of("submitted")}, {"plan": of("approved")}
NOBODY = {"plan": "plan_nothing"}
S1, S2, S3, S4, S5, S9 = ({"plan": of("going"), "step": f"s{number}"} for number in (1, 2, 3, 4, 5, 9))

CASES = [
    (ListPlans, {"status": "draft"}, ""),
    (ListPlans, {"status": "bogus"}, "bad_value"),
    (ShowPlan, {"plan": "last"}, ""),
    (ShowPlan, {"plan": of("draft", 12)}, ""),
    (ShowPlan, NOBODY, "plan_not_found"),
    (SubmitPlan, DRAFT, ""),
    (SubmitPlan, SUBMITTED, "wrong_use"),
    (SubmitPlan, NOBODY, "plan_not_found"),
    (ApprovePlan, SUBMITTED, ""),
    (ApprovePlan, {**SUBMITTED, "commit": True}, ""),
    (ApprovePlan, DRAFT, "wrong_use"),
    (ApprovePlan, NOBODY, "plan_not_found"),
    (RejectPlan, {**SUBMITTED, "reason": "no"}, ""),
    (RejectPlan, {**SUBMITTED, "reason": " "}, "bad_value"),
    (RejectPlan, {**DRAFT, "reason": "no"}, "wrong_use"),
    (CommitPlan, APPROVED, ""),
    (CommitPlan, SUBMITTED, "wrong_use"),
    (ReviewPlan, {**SUBMITTED, "verdict": "accept", "text": "good"}, ""),
    (ReviewPlan, {**SUBMITTED, "verdict": "perhaps"}, "bad_value"),
    (ReviewPlan, {**SUBMITTED, "verdict": "change"}, "bad_value"),
    (ReviewPlan, {**APPROVED, "verdict": "accept"}, "wrong_use"),
    (StartStep, S5, ""),
    (StartStep, S1, "wrong_use"),
    (StartStep, S9, "step_not_found"),
    (CompleteStep, {**S1, "note": "done"}, ""),
    (CompleteStep, {**S2, "skipped": True}, ""),
    (CompleteStep, S2, "wrong_use"),
    (CompleteStep, S9, "step_not_found"),
    (BlockStep, {**S1, "reason": "key"}, ""),
    (BlockStep, {**S1, "reason": " "}, "bad_value"),
    (BlockStep, {**S2, "reason": "key"}, "wrong_use"),
    (ResumeStep, {**S2, "reason": "here"}, ""),
    (ResumeStep, S1, "wrong_use"),
    (ReassignStep, {**S1, "to": "tester", "reason": "better"}, ""),
    (ReassignStep, {**S1, "to": "nobody", "reason": "better"}, "agent_not_found"),
    (AcceptStep, S4, ""),
    (AcceptStep, S1, "wrong_use"),
    (ReopenStep, {**S3, "reason": "more"}, ""),
    (ReopenStep, {**S1, "reason": "more"}, "wrong_use"),
]


@pytest.mark.parametrize(("operation", "values", "code"), CASES)
async def test_an_operation_is_the_same_in_every_interface(tmp_path, operation, values, code):
    interfaces = Interfaces(tmp_path, "plans", FILES, prepared, str)

    await interfaces.agree(operation, values, code, agent="coder")


def test_every_operation_of_people_is_tried_with_something_good_and_something_bad():
    """But those that the terminal reads from a file."""
    others = [each for each in plan_steps.OPERATIONS if each not in (DraftPlan, RevisePlan)]

    assert_all_tried(others, CASES)
