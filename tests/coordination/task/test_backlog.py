"""The backlog: who puts what into it, and what is taken from it next."""

import pytest

from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.task import PRIORITIES
from folkmoot.errors import WrongUse
from tests.coordination.task.desks import Moment


@pytest.fixture
def at() -> Moment:
    return Moment()


async def test_a_task_is_put_into_the_backlog_of_another_agent_and_says_who_asked(at):
    """E-23."""
    new = NewTask("Test it", assignee="tester", estimated_effort="small", due_date="2026-02-01", steps=("a",))

    task = await at.by("coder").add(new)

    assert (task.status, task.agent_id, task.backlog.assignee) == ("backlog", "tester", "tester")
    assert (task.created_by, task.source) == ("coder", "request:coder")
    assert (task.backlog.estimated_effort, task.backlog.due_date) == ("small", "2026-02-01")
    assert [task.status for task in task.steps] == ["pending"]
    assert [task.id for task in await at.by("tester").list("backlog")] == [task.id]
    assert await at.by("coder").list("backlog") == []


@pytest.mark.parametrize(
    ("new", "refusal"),
    [
        (NewTask("x", assignee="nobody"), "no agent 'nobody'; known are boss, coder, tester"),
        (NewTask("x", start_date="soon"), "`start_date` is a day such as 2026-01-31 .* not 'soon'"),
        (NewTask("x", due_date="2026-02-30"), "`due_date` is a day"),
        (NewTask("x", depends_on=("task_9",)), "`depends_on` names 'task_9', and there is no such task"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_is_added(at, new, refusal):
    """E-23."""
    with pytest.raises(WrongUse, match=refusal):
        await at.by("coder").add(new)

    assert await at.desk.all() == {}


async def test_a_time_with_an_offset_is_kept_in_utc(at):
    task = await at.by("coder").add(NewTask("x", start_date="2026-02-01T01:00:00+02:00"))

    assert task.backlog.start_date == "2026-01-31T23:00:00.000Z"


async def test_the_next_pick_is_by_priority_then_due_date_then_start_date_then_age(at):
    """E-24."""
    wanted = [
        NewTask("urgent", priority="urgent"),
        NewTask("due first", priority="high", due_date="2026-03-01"),
        NewTask("due later", priority="high", due_date="2026-04-01"),
        NewTask("started longer ago", due_date="2026-04-01", start_date="2025-01-01"),
        NewTask("started since", due_date="2026-04-01", start_date="2025-02-01"),
        NewTask("without dates, older"),
        NewTask("without dates, newer"),
        NewTask("low", priority="low", due_date="2026-01-02"),
    ]
    for new in (*reversed(wanted[:5]), *wanted[5:]):
        await at.by("coder").add(new)
        await at.clock.advance(1)

    picked = []
    for _ in wanted:
        task = await at.by("coder").pick()
        picked.append(task.description)
        await at.by("coder").complete(summary="")

    assert picked == [new.description for new in wanted]


async def test_a_picked_task_is_worked_on_in_the_work_session_of_whoever_picks_it(at):
    """E-24; the one before is remembered."""
    added = await at.by("coder", "ws_1").add(NewTask("x", steps=("a", "b")))

    task = await at.by("coder", "ws_2").pick()

    assert (task.id, task.status, task.steps[0].status) == (added.id, "in_progress", "in_progress")
    assert (task.work_session_id, task.previous_work_session_id) == ("ws_2", "ws_1")
    assert (await at.drafts(task.id))[-1].work_session_id == "ws_2"


async def test_nothing_is_picked_beside_an_active_task(at):
    """E-24."""
    waiting = await at.by("coder").add(NewTask("x"))
    active = await at.by("coder").start(NewTask("y", requires_approval=True))

    for id in ("", waiting.id):
        with pytest.raises(
            WrongUse, match=f"coder has {active.id}, which is pending_approval; complete or cancel"
        ):
            await at.by("coder").pick(id)


async def test_nothing_is_picked_before_its_start_date(at):
    """E-24."""
    task = await at.by("coder").add(NewTask("x", start_date="2026-01-03"))

    for id in ("", task.id):
        with pytest.raises(WrongUse, match=f"{task.id} starts on 2026-01-03; pick it then"):
            await at.by("coder").pick(id)
    await at.clock.advance(2 * 86_400)
    assert (await at.by("coder").pick()).id == task.id


async def test_nothing_is_picked_before_what_it_depends_on_is_completed(at):
    """E-24: the next one that may be picked is."""
    first = await at.by("coder").add(NewTask("first", priority="low"))
    second = await at.by("coder").add(NewTask("second", priority="urgent", depends_on=(first.id, first.id)))

    with pytest.raises(
        WrongUse, match=rf"{second.id} depends on {first.id} \(backlog\); complete that first"
    ):
        await at.by("coder").pick(second.id)
    assert (await at.by("coder").pick()).id == first.id
    await at.by("coder").complete(summary="")
    assert (await at.by("coder").pick()).id == second.id


async def test_only_from_the_backlog_and_only_if_there_is_one(at):
    """E-24."""
    task = await at.by("coder").start(NewTask("x"))

    with pytest.raises(WrongUse, match=f"{task.id} is in_progress and not in the backlog"):
        await at.by("coder").pick(task.id)
    await at.by("coder").complete()
    with pytest.raises(WrongUse, match="the backlog of coder is empty; add a task"):
        await at.by("coder").pick()


async def test_a_pick_made_again_after_a_crash_picks_no_second_task(at):
    """C3."""
    await at.by("coder").add(NewTask("one"))
    await at.by("coder").add(NewTask("two"))
    call = at.by("coder")

    assert await call.pick() == await call.pick()


async def test_lists_are_by_priority_then_age_of_one_agent_or_of_all(at):
    """E-18."""
    for priority in ("low", "urgent", "medium", "high", "urgent"):
        await at.by("coder").add(NewTask(priority, priority=priority))
        await at.clock.advance(1)
    other = await at.by("tester").start(NewTask("mine", priority="low"))

    mine = await at.by("coder").list()

    assert [task.priority for task in mine] == ["urgent", *PRIORITIES]
    assert mine[0].created_at < mine[1].created_at
    assert [task.id for task in await at.by("tester").list()] == [other.id]
    assert len(await at.by("tester").list(everybody=True)) == 6
    assert [task.id for task in await at.by("coder").list("in_progress", everybody=True)] == [other.id]
