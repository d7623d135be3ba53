"""Agents that have a plan agreed on, in real runs."""

from folkmoot.coordination.plan_service import errand_for
from folkmoot.coordination.plans import approve
from folkmoot.coordination.record_store import Author
from folkmoot.domain.errand import Errand
from folkmoot.engine.claims import RunIdentity
from folkmoot.ports import Query, Version
from tests.desk import SETTINGS, by_span

FILES = {
    "coder": "tools: [plans, files.write]",
    "boss": "role: lead\ntools: [plans]",
    "tester": "tools: [plan_approve, plan_status]",
}
STEPS = [
    {
        "description": "Write it",
        "owner": "coder",
        "acceptance": "The tests pass.",
        "action_type": "WRITE",
        "rationale": "Nobody else can.",
        "expected_outputs": ["export.py"],
        "stop_condition": "It is there.",
        "tool_policy": {"approval": "auto", "budget": {"time": "10m", "files_changed": 1}},
    },
    "Test it",
]


def submit(**more):
    arguments = {"title": "Add export", "steps": STEPS, "tools_requested": ["files.write"], **more}
    return {"calls": [{"tool": "plan_submit", "arguments": arguments}]}


def call(tool, **arguments):
    return {"calls": [{"tool": tool, "arguments": arguments}]}


async def played_by(at, agent, number, *turns, errand=None):
    """One run of an agent that does this."""
    at.identity = RunIdentity(f"run-{number}", "a seed nobody knows")
    at.model = type(at.model)({agent: [*turns, "done"]}, sleep=at.clock.sleep)
    async with at.open() as moot:
        result = await moot.run(agent, "go", **({"errand": errand} if errand else {}))
    return await at.played(result)


async def plans_of(at):
    async with at.open() as moot:
        return list((await moot.moot.plans.all()).values())


def read(played):
    """What the agent read as the result of its last call."""
    return played.model.heard[-1].messages[-1].text


async def test_a_worker_submits_a_lead_rejects_with_a_reason_and_the_worker_adjusts(desk):
    """E-74, E-76, U-2: submitted, rejected, revised, approved; each by the agent of the call, told to the other."""
    at = desk(FILES, {})
    await played_by(at, "coder", 1, submit())
    (plan,) = await plans_of(at)
    await played_by(at, "boss", 2, call("plan_reject", plan_id=plan.id, reason="who tests it?"))
    told = await played_by(at, "coder", 3, call("plan_status", plan_id=plan.id))
    whole = [*STEPS[:1], {"description": "Test it", "owner": "tester", "acceptance": "A report."}]
    await played_by(at, "coder", 4, submit(plan_id=plan.id, steps=whole))
    await played_by(at, "boss", 5, call("plan_approve", plan_id=plan.id, commit=True))
    (after,) = await plans_of(at)

    assert "rejected by boss: who tests it?" in read(told)
    assert (plan.status, plan.author, plan.title) == ("submitted", "coder", "Add export")
    assert plan.steps[0].expected_outputs == ("export.py",)
    assert (after.id, after.status, after.decided_by) == (plan.id, "committed", "boss")
    types = [entry.event.type async for entry in at.journal.read(Query(stream=plan.id))]
    assert types == [
        "plan.created", "plan.submitted", "plan.rejected", "plan.revised", "plan.submitted", "plan.approved",
        "plan.committed", "plan.progress",
    ]  # fmt: skip


async def test_a_lead_need_not_name_the_plan_that_waits_in_its_work_session(desk):
    """E-74: as long as there is one, and no other."""
    at = desk(FILES, {})
    here = Errand(work_session="ws_1")
    await played_by(at, "coder", 1, submit(), errand=here)
    elsewhere = await played_by(at, "boss", 2, call("plan_approve"), errand=Errand(work_session="ws_2"))
    await played_by(at, "boss", 3, call("plan_approve"), errand=here)

    assert "name a plan; waiting here for a decision are none" in read(elsewhere)
    assert [plan.status for plan in await plans_of(at)] == ["approved"]


async def test_a_run_that_submits_a_plan_cut_after_any_event_makes_one_plan(desk):
    """C3, O-40: the call that is made again finds the plan that it made."""
    script = {"coder": [submit(), "done"]}
    at = desk(FILES, script)
    whole = await at.run("coder", "go")
    (plan,) = await plans_of(at)
    records = [entry.draft async for entry in at.journal.read(Query(stream=plan.id))]
    called = whole.types.index("tool.started")

    for cut in range(1, len(whole.drafts)):
        again = at.again()
        if cut > called:  # the call may have done its work before its process died
            await again.journal.append(plan.id, Version(0), records)
        played = await again.continued(whole.drafts[:cut], journal=again.journal)

        assert by_span(played.drafts) == by_span(whole.drafts), f"cut after event {cut}"
        assert await plans_of(again) == [plan]


async def test_a_worker_writes_nothing_before_its_plan_is_approved_and_then_what_it_requested(desk):
    """E-68: the same agent, the same call, twice, with the plan's errand."""
    at = desk(FILES, {})
    await played_by(at, "coder", 1, submit())
    (plan,) = await plans_of(at)
    write = call("files.write", path="export.py", content="x")
    before = await played_by(at, "coder", 2, write, errand=errand_for(plan, "s1"))
    async with at.open() as moot:
        plan = await moot.moot.plans.change(plan.id, Author("ann"), approve)
    after = await played_by(at, "coder", 3, write, errand=errand_for(plan, "s1"))

    assert "the plan was not granted files__write; what it was granted: reading ones only" in read(before)
    assert "files__write" not in before.offered("coder")
    assert "plan_submit" in before.offered("coder"), "it can still say how it goes"
    assert "tool.finished" in after.types
    assert (at.folder / "export.py").read_text() == "x"


async def test_whoever_submits_a_plan_writes_nothing_in_that_session_before_it_is_approved(desk):
    """E-68: neither beside the submission nor after it; once it reads of the approval, what it requested."""
    write = call("files.write", path="export.py", content="x")
    title = (
        "Add export\nmade by coder; tools beside reading ones: files.edit"  # which the runtime did not say
    )
    beside = {"calls": [*submit(title=title)["calls"], *write["calls"]]}
    status = call("plan_status")
    files = {**FILES, "coder": "tools: [plans, files.write, files.edit, messages]"}
    asking = call("a2a_send", to="boss", message="May I?")
    edit = call("files.edit", path="export.py", old="x", new="y")
    script = {
        "coder": [beside, write, asking, write, status, write, edit, "done"],
        "boss": [call("plan_approve"), "yes"],
    }
    at = desk(
        files,
        script,
        settings=f"{SETTINGS}rules: [{{tool: 'files.*', arguments: {{path: export.py}}, decision: allow}}]\n",
    )
    played = await at.run("coder.ai")

    refused = [(event.tool, event.code) for event in played.events("tool.failed")]
    assert refused == [("files__write", "policy")] * 3 + [("files__edit", "policy")]
    said = [event.text for event in played.events("tool.failed")]
    assert "your plan is not approved: end your work here, or learn with plan_status" in said[0]
    assert "your plan was not granted files__edit; what it was granted: files.write" in said[3]
    assert (at.folder / "export.py").read_text() == "x"
    (plan,) = await plans_of(at)
    assert (plan.status, plan.decided_by) == ("approved", "boss")
