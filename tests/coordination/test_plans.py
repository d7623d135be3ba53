"""Plans that several carry out: who may do what to them, and what the journal says of it."""

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination import plans as life
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plan_service import Plans
from folkmoot.coordination.plans import BudgetWish, PlanWish, PolicyWish, StepWish
from folkmoot.coordination.record_store import Author, calling
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.plan import Plan, Review
from folkmoot.errors import WrongUse
from folkmoot.ports import Query, Site

ROLES = {"boss": "lead", "coder": "worker", "tester": "worker", "critic": "reviewer"}
GRAPH = Graph({f"{id}.ai": Agent(id, f"{id}.ai", "", role=role) for id, role in ROLES.items()})
ANNA = Author("anna")
WISH = PlanWish(
    title="Add export",
    steps=(
        StepWish("write it", owner="coder", acceptance="the tests pass"),
        StepWish("test it", owner="tester", acceptance="a report says so"),
    ),
)


def agent(id: str, turn: int = 1) -> Author:
    return calling(Site(f"run-{id}", f"run-{id}", "0", turn, 1, agent=id, work_session="ws_1"))


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def desk(journal: MemoryJournal) -> Plans:
    return Moot(journal, FakeClock(), GRAPH).plans


async def happened(journal: MemoryJournal, plan: Plan) -> list[str]:
    return [entry.event.type async for entry in journal.read(Query(stream=plan.id))]


async def committed(desk: Plans, wish: PlanWish = WISH) -> Plan:
    plan = await desk.draft(agent("coder"), wish, submitted=True)
    return await desk.change(plan.id, agent("boss"), life.approve, committed=True)


async def test_a_plan_is_drafted_reviewed_submitted_approved_and_committed(desk, journal):
    """D-14, E-74, U-2: each is an event of the plan's stream, and the record says who decided when."""
    plan = await desk.draft(agent("coder"), WISH)
    await desk.change(plan.id, agent("critic"), life.review, "change", "say which format")
    await desk.change(plan.id, agent("coder", 2), life.submit)
    await desk.change(plan.id, agent("boss"), life.approve, "go ahead")
    plan = await desk.change(plan.id, ANNA, life.commit)

    assert plan == await desk.get(plan.id)
    assert (plan.status, plan.author, plan.decided_by, plan.work_session) == (
        "committed", "coder", "boss", "ws_1",
    )  # fmt: skip
    assert plan.reviews == (
        Review("critic", "change", "say which format", plan.created_at, "0/turn:1/call:1"),
    )
    assert plan.decided_at
    assert await happened(journal, plan) == [
        "plan.created", "plan.reviewed", "plan.submitted", "plan.approved", "plan.committed", "plan.progress",
    ]  # fmt: skip


async def test_every_event_of_a_plan_belongs_to_its_work_session(desk, journal):
    plan = await committed(desk)
    await desk.change(plan.id, ANNA, steps.start, "s1")

    assert {entry.draft.work_session_id async for entry in journal.read(Query(stream=plan.id))} == {"ws_1"}


async def test_a_rejected_plan_carries_its_reason_and_is_adjusted(desk):
    """E-74, E-76: the worker reads why, revises and submits again."""
    plan = await desk.draft(agent("coder"), WISH, submitted=True)
    rejected = await desk.change(plan.id, agent("boss"), life.reject, "too many steps")
    again = PlanWish(title="Add export", steps=("write and test it",))
    plan = await desk.revise(plan.id, agent("coder", 2), again, submitted=True)

    assert (rejected.status, rejected.reject_reason, rejected.decided_by) == (
        "rejected", "too many steps", "boss",
    )  # fmt: skip
    assert (plan.status, plan.reject_reason, len(plan.steps)) == ("submitted", "", 1)


@pytest.mark.parametrize("first", [("approve", ()), ("reject", ("no",))])
@pytest.mark.parametrize("second", [("approve", ()), ("reject", ("no",))])
async def test_deciding_a_plan_that_is_decided_changes_nothing(desk, journal, first, second):
    """E-76: an error that names its state; the stream stays as it is."""
    plan = await desk.draft(agent("coder"), WISH, submitted=True)
    plan = await desk.change(plan.id, ANNA, getattr(life, first[0]), *first[1])
    before = await happened(journal, plan)

    with pytest.raises(WrongUse, match=f"is {plan.status}: .*only a plan that is submitted"):
        await desk.change(plan.id, ANNA, getattr(life, second[0]), *second[1])

    assert await happened(journal, plan) == before
    assert await desk.get(plan.id) == plan


@pytest.mark.parametrize(("decide", "args"), [(life.approve, ()), (life.reject, ("no",)), (life.commit, ())])
async def test_only_a_lead_or_a_person_decides(desk, decide, args):
    """U-6, E-74: whatever an agent's prompt says, its role does."""
    plan = await desk.draft(agent("coder"), WISH, submitted=True)

    with pytest.raises(WrongUse, match=r"only a lead or a person may .*; tester is a worker"):
        await desk.change(plan.id, agent("tester"), decide, *args)


async def test_a_plan_without_owners_and_acceptance_is_not_committed_and_all_steps_are_named(desk):
    """D-4."""
    wish = PlanWish(title="t", steps=("a", StepWish("b", owner="coder"), StepWish("c", "coder", "works")))
    plan = await desk.draft(ANNA, wish, submitted=True, chance="1")

    with pytest.raises(WrongUse, match=r"step s1 has no owner and no acceptance; step s2 has no acceptance$"):
        await desk.change(plan.id, ANNA, life.approve, committed=True)

    assert (await desk.get(plan.id)).status == "submitted"


async def test_an_owner_must_be_an_agent_of_the_project(desk):
    wish = PlanWish(title="t", steps=(StepWish("a", "codr", "works"),))
    plan = await desk.draft(ANNA, wish, submitted=True, chance="1")

    with pytest.raises(WrongUse, match=r"there is no agent 'codr'.* boss, coder, critic, tester, user"):
        await desk.change(plan.id, ANNA, life.approve, committed=True)


async def test_nothing_is_carried_out_before_the_plan_is_committed(desk):
    """D-14: execution before commit is refused."""
    plan = await desk.draft(agent("coder"), WISH, submitted=True)
    await desk.change(plan.id, ANNA, life.approve)

    with pytest.raises(WrongUse, match=r"is approved.* only a plan that is committed can be carried out"):
        await desk.change(plan.id, agent("coder", 2), steps.start, "s1")


async def test_steps_are_carried_out_by_their_owners_with_progress(desk, journal):
    """D-15, D-37: the events carry the owner; progress is told in percent; the last step ends the plan."""
    plan = await committed(desk)
    for number, (id, owner) in enumerate((("s1", "coder"), ("s2", "tester")), start=2):
        await desk.change(plan.id, agent(owner, number), steps.start, id)
        plan = await desk.change(plan.id, agent(owner, number + 10), steps.complete, id, f"{owner} did it")

    events = [entry.event async for entry in journal.read(Query(stream=plan.id))]
    owners = [(e.type, e.step, e.owner) for e in events if e.type.startswith("step.")]
    assert owners == [
        ("step.started", "s1", "coder"),
        ("step.completed", "s1", "coder"),
        ("step.started", "s2", "tester"),
        ("step.completed", "s2", "tester"),
    ]
    assert [e.percent for e in events if e.type == "plan.progress"] == [0, 50, 100]
    assert (plan.status, [step.note for step in plan.steps]) == (
        "done",
        ["coder did it", "tester did it"],
    )


async def test_only_the_owner_or_a_person_completes_a_step(desk):
    plan = await committed(desk)
    await desk.change(plan.id, agent("coder", 2), steps.start, "s1")

    with pytest.raises(WrongUse, match=r"step s1 .* belongs to coder; only they or a person may complete it"):
        await desk.change(plan.id, agent("boss", 3), steps.complete, "s1")

    plan = await desk.change(plan.id, ANNA, steps.complete, "s1")
    assert plan.steps[0].status == "done"


async def test_a_blocked_step_waits_for_its_decision(desk):
    """D-16: the step names what it waits for, and cannot be completed until it goes on."""
    plan = await committed(desk)
    await desk.change(plan.id, agent("coder", 2), steps.start, "s1")
    plan = await desk.change(plan.id, agent("coder", 3), steps.block, "s1", "which format?", "decision_1")

    assert (plan.steps[0].blocked, plan.steps[0].decision) == ("which format?", "decision_1")
    with pytest.raises(WrongUse, match=r"is blocked: which format\?; resume it first"):
        await desk.change(plan.id, agent("coder", 4), steps.complete, "s1")

    await desk.change(plan.id, agent("boss", 5), steps.resume, "s1", "csv")
    plan = await desk.change(plan.id, agent("coder", 6), steps.complete, "s1")
    assert plan.steps[0].status == "done"


async def test_a_step_passes_to_another_owner_who_accepts_it_first(desk, journal):
    """D-18, D-41, U-4: later events carry the new owner, nothing of the progress is lost, nobody owns it twice."""
    plan = await committed(desk)
    await desk.change(plan.id, agent("coder", 2), steps.start, "s1")
    plan = await desk.change(plan.id, agent("boss", 3), steps.reassign, "s1", "tester", "knows the format")

    assert (plan.steps[0].owner, plan.steps[0].status) == ("tester", "in_progress")
    with pytest.raises(WrongUse, match="belongs to tester"):
        await desk.change(plan.id, agent("coder", 4), steps.complete, "s1")
    with pytest.raises(WrongUse, match=r"tester has not accepted step s1 .* which coder passed on"):
        await desk.change(plan.id, agent("tester", 4), steps.start, "s1")

    await desk.change(plan.id, agent("tester", 5), steps.accept, "s1")
    await desk.change(plan.id, agent("tester", 6), steps.start, "s1")
    await desk.change(plan.id, agent("tester", 7), steps.complete, "s1")

    events = [entry.event async for entry in journal.read(Query(stream=plan.id))]
    assert [(e.type, e.owner) for e in events if e.type in ("step.started", "step.completed")] == [
        ("step.started", "coder"), ("step.started", "tester"), ("step.completed", "tester"),
    ]  # fmt: skip
    handoffs = [e for e in events if e.type.startswith("handoff.")]
    assert [(e.type, e.kind, e.receiver, e.subject) for e in handoffs] == [
        (f"handoff.{word}", "ownership", "tester", "s1") for word in ("requested", "accepted", "completed")
    ]
    assert (handoffs[0].sender, handoffs[0].reason) == ("coder", "knows the format")


async def test_a_reviewer_reopens_a_step_and_the_plan_goes_on(desk, journal):
    """D-19: the step goes back, and so does the plan."""
    plan = await committed(desk, PlanWish(title="t", steps=(StepWish("a", "coder", "works"),)))
    await desk.change(plan.id, agent("coder", 2), steps.start, "s1")
    done = await desk.change(plan.id, agent("coder", 3), steps.complete, "s1")
    with pytest.raises(WrongUse, match="never its owner; not coder"):
        await desk.change(plan.id, agent("coder", 4), steps.reopen, "s1", "not good")
    plan = await desk.change(plan.id, agent("critic", 4), steps.review, "s1", "change", "no tests")

    assert (done.status, plan.status, plan.steps[0].status, plan.percent) == (
        "done", "committed", "in_progress", 0,
    )  # fmt: skip
    assert [(review.by, review.verdict, review.text) for review in plan.steps[0].reviews] == [
        ("critic", "change", "no tests")
    ]
    await desk.change(plan.id, agent("coder", 5), steps.start, "s1")
    plan = await desk.change(plan.id, agent("coder", 6), steps.complete, "s1")
    plan = await desk.change(plan.id, agent("critic", 7), steps.review, "s1", "accept")
    assert plan.status == "done"
    assert (await happened(journal, plan)).count("step.reopened") == 1


async def test_what_is_drafted_again_with_the_same_chance_is_the_same_plan(desk):
    """C3: for the runtime, which draws names from what is recorded."""
    first = await desk.draft(ANNA, WISH, chance="1")
    await desk.change(first.id, ANNA, life.submit)

    assert (await desk.draft(ANNA, WISH, chance="1")).status == "submitted"
    assert len(await desk.all()) == 1


async def test_a_plan_that_cannot_be_kept_is_refused_with_everything_that_is_wrong(desk):
    wish = PlanWish(
        title=" ",
        steps=("", StepWish("b", tool_policy=PolicyWish(budget=BudgetWish(time="soon")))),
    )

    with pytest.raises(WrongUse, match="no title; step 1 has no description; step 2 has the time 'soon'"):
        await desk.draft(ANNA, wish, chance="1")

    assert await desk.all() == {}
