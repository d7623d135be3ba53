"""Tasks, as agents and people change them at their desk."""

import asyncio

import pytest

from folkmoot import MemoryJournal
from folkmoot.coordination.task_service import TaskService
from folkmoot.coordination.tasks import NewTask, Stepping, StopGuard
from folkmoot.domain.errand import own_work_session
from folkmoot.domain.task import Blocking, Cancelled, Completed, Failed, Task
from folkmoot.errors import OperationFailed, WrongUse
from tests.coordination.task.desks import Moment, graph

THREE = NewTask("Mend the login", steps=("look", "mend", "test"))


@pytest.fixture
def at() -> Moment:
    return Moment()


def marks(task: Task) -> str:
    """The steps in their order: `s1:done s2:in_progress`."""
    return " ".join(f"{step.id}:{step.status}" for step in task.steps)


async def test_a_started_task_is_in_progress_with_its_first_step_begun(at):
    """E-14."""
    task = await at.by("coder").start(THREE)

    assert (task.status, task.agent_id, task.created_by, task.work_session_id) == (
        "in_progress",
        "coder",
        "coder",
        "ws_1",
    )
    assert marks(task) == "s1:in_progress s2:pending s3:pending"
    assert task.id.startswith("task_")
    assert len(task.id) == 25


async def test_two_starts_are_two_tasks_and_one_call_made_again_is_one(at):
    """E-14; a call repeated after a crash finds what it made."""
    coder = at.by("coder")

    first, again = await coder.start(THREE), await coder.start(THREE)
    other = await at.by("coder").start(THREE)

    assert first == again
    assert list(await at.desk.all()) == [first.id, other.id]


async def test_a_task_that_needs_approval_waits_with_all_steps_pending_until_it_is_approved(at):
    """E-14, E-20."""
    waiting = await at.by("coder").start(NewTask("Deploy", requires_approval=True, steps=("a", "b")))
    approved = await at.by("coder").approve(waiting.id)

    assert (waiting.status, marks(waiting)) == ("pending_approval", "s1:pending s2:pending")
    assert (approved.status, marks(approved)) == ("in_progress", "s1:in_progress s2:pending")


async def test_only_what_waits_for_approval_is_approved(at):
    """E-20."""
    task = await at.by("coder").start(THREE)

    with pytest.raises(
        WrongUse, match=f"{task.id} is in_progress and cannot be approved: it is being worked on"
    ):
        await at.by("coder").approve(task.id)


async def test_a_task_of_a_person_has_a_work_session_of_its_own(at):
    """5.1: the id of a work session is made at task_start."""
    task = await at.person("coder").start(NewTask("Call back"), chance="drawn")

    assert (task.created_by, task.source) == ("ann", "request:ann")
    assert task.work_session_id == own_work_session(task.id)
    assert (await at.drafts(task.id))[0].work_session_id == task.work_session_id


@pytest.mark.parametrize("description", ["", "  \n"])
async def test_a_task_needs_a_description(at, description):
    with pytest.raises(WrongUse, match="needs a `description`"):
        await at.by("coder").start(NewTask(description))


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        (Stepping("complete_step", "s1"), "s1:done s2:in_progress s3:pending"),
        (Stepping("complete_step", "s2"), "s1:in_progress s2:done s3:pending"),
        (Stepping("skip_step", "s1"), "s1:skipped s2:in_progress s3:pending"),
        (Stepping("start_step", "s3"), "s1:pending s2:pending s3:in_progress"),
        (Stepping("add_step", content="ship"), "s1:in_progress s2:pending s3:pending s4:pending"),
        (Stepping("set_steps", steps=("only",)), "s1:in_progress"),
        (Stepping("reorder_steps", order=("s3", "s1")), "s3:pending s1:in_progress s2:pending"),
    ],
)
async def test_each_action_on_steps(at, wanted, after):
    """E-15: completing one starts the next; starting one puts the other back."""
    await at.by("coder").start(THREE)

    task = await at.by("coder").update(stepping=wanted)

    assert marks(task) == after
    assert [step.order for step in task.steps] == list(range(1, len(task.steps) + 1))


@pytest.mark.parametrize(
    ("wanted", "refusal"),
    [
        (Stepping("complete_step", "s9"), "no step 's9' in task_.*its steps are s1, s2, s3"),
        (Stepping("start_step"), "needs `step_id`; its steps are s1, s2, s3"),
        (Stepping("dance"), "no action 'dance'; there are set_steps, add_step"),  # type: ignore[arg-type]
        (Stepping("add_step"), "add_step needs `step_content`"),
        (Stepping("set_steps"), "set_steps needs `steps`"),
        (Stepping("set_steps", steps=("a", " ")), "a step is empty"),
        (Stepping("reorder_steps"), "reorder_steps needs `steps_order`"),
        (Stepping("reorder_steps", order=("s1", "s1")), "names a step twice"),
    ],
)
async def test_each_action_that_makes_no_sense_is_refused_with_the_remedy(at, wanted, refusal):
    """E-15."""
    task = await at.by("coder").start(THREE)

    with pytest.raises(WrongUse, match=refusal):
        await at.by("coder").update(stepping=wanted)

    assert await at.desk.get(task.id) == task


async def test_progress_is_noted_in_its_order(at):
    """E-15."""
    await at.by("coder").start(THREE)
    await at.by("coder").update(progress="found it")

    task = await at.by("coder").update(progress="mended it", stepping=Stepping("complete_step", "s1"))

    assert task.progress == ("found it", "mended it")
    assert marks(task) == "s1:done s2:in_progress s3:pending"


async def test_an_update_without_anything_is_refused(at):
    """E-15."""
    await at.by("coder").start(THREE)

    with pytest.raises(WrongUse, match="needs `progress`, or an `action`"):
        await at.by("coder").update()


async def test_without_a_task_in_progress_an_id_is_needed(at):
    """E-15, E-30: an agent's current task is its own."""
    await at.by("tester").start(THREE)

    with pytest.raises(WrongUse, match="coder has no task that is in_progress; start one"):
        await at.by("coder").update(progress="?")


async def test_the_current_task_is_that_of_the_work_session_then_the_latest(at):
    """E-15."""
    here = await at.by("coder", "ws_1").start(NewTask("here"))
    await at.clock.advance(1)
    there = await at.by("coder", "ws_2").start(NewTask("there"))

    assert (await at.by("coder", "ws_1").update(progress="x")).id == here.id
    assert (await at.by("coder", "ws_9").update(progress="x")).id == there.id


async def test_a_task_with_open_steps_is_not_complete_and_the_refusal_lists_them(at):
    """E-16: the stop guard."""
    task = await at.by("coder").start(THREE)
    await at.by("coder").update(stepping=Stepping("complete_step", "s1"))

    with pytest.raises(
        StopGuard, match=r"stop_guard: task_.* s2 \(in_progress\) mend; s3 \(pending\) test"
    ) as found:
        await at.by("coder").complete(summary="done?")

    assert [step.id for step in found.value.remaining] == ["s2", "s3"]
    assert (await at.desk.get(task.id)).status == "in_progress"


async def test_forced_completion_leaves_a_note(at):
    """E-16."""
    await at.by("coder").start(THREE)

    task = await at.by("coder").complete(summary="enough", force=True)

    assert (task.status, task.outcome) == ("completed", Completed("enough"))
    assert task.progress == ("completed by force, left open: s1, s2, s3",)


async def test_with_all_steps_done_or_skipped_a_task_is_completed(at):
    """E-16, E-28."""
    await at.by("coder").start(NewTask("x", steps=("a", "b")))
    await at.by("coder").update(stepping=Stepping("complete_step", "s1"))
    await at.by("coder").update(stepping=Stepping("skip_step", "s2"))

    task = await at.by("coder").complete(summary="both")

    assert (task.status, task.outcome, task.ended_at) == ("completed", Completed("both"), at.clock.now())
    assert await at.by("coder").current() is None


async def test_a_completion_made_again_after_a_crash_completes_no_other_task(at):
    """C3: the call says which task it changed, though it named none."""
    older = await at.by("coder").start(NewTask("older"))
    await at.clock.advance(1)
    await at.by("coder").start(NewTask("newer"))
    call = at.by("coder")

    first, again = await call.complete(summary="s"), await call.complete(summary="s")

    assert first == again
    assert (await at.desk.get(older.id)).status == "in_progress"


async def test_any_live_task_is_cancelled_with_its_reason_and_no_other(at):
    """E-19, E-28."""
    blocked = await _blocked(at)
    waiting = await at.by("coder").add(NewTask("later"))

    for task in (blocked, waiting):
        gone = await at.by("coder").cancel(task.id, "not wanted")
        assert (gone.status, gone.outcome, gone.blocking) == ("cancelled", Cancelled("not wanted"), None)
    with pytest.raises(WrongUse, match="is cancelled and cannot be cancelled: it has ended; start a new one"):
        await at.by("coder").cancel(waiting.id, "again")
    with pytest.raises(WrongUse, match="there is no task 'task_0'"):
        await at.by("coder").cancel("task_0", "")


async def test_work_that_ends_with_an_error_is_interrupted_with_it(at):
    """E-26."""
    task = await at.by("coder").start(THREE)

    failed = await at.by("coder").fail(task.id, "no disk")

    assert (failed.status, failed.outcome) == ("interrupted", Failed("no disk"))


async def test_a_blocked_task_names_who_can_help_once_each(at):
    """E-21: escalation state none, counters 0."""
    task = await _blocked(at, "tester", "boss", "tester")

    assert task.status == "blocked"
    assert task.blocking == Blocking("no key", ("tester", "boss"), "send it")
    assert (task.blocking.escalation_state, task.blocking.unblock_request_count) == ("none", 0)


@pytest.mark.parametrize(
    ("blocking", "refusal"),
    [
        (Blocking(" ", ("tester",)), "for a `reason`"),
        (Blocking("x", ()), "`unblock_by` is empty; name agents that can help: boss, tester"),
        (Blocking("x", ("coder",)), "coder cannot unblock its own task; name others: boss, tester"),
        (Blocking("x", ("nobody",)), "no agent 'nobody'; known are boss, coder, tester"),
    ],
)
async def test_a_block_that_nobody_could_lift_is_refused(at, blocking, refusal):
    """E-21."""
    await at.by("coder").start(THREE)

    with pytest.raises(WrongUse, match=refusal):
        await at.by("coder").block(blocking)


async def test_a_resumed_task_goes_on_without_any_trace_of_the_block(at):
    """E-22: an omitted id means the blocked one."""
    task = await _blocked(at)

    resumed = await at.by("coder").resume()

    assert (resumed.id, resumed.status, resumed.blocking) == (task.id, "in_progress", None)


async def test_only_what_is_blocked_is_resumed(at):
    """E-22."""
    task = await at.by("coder").start(THREE)

    with pytest.raises(WrongUse, match="is in_progress and cannot be resumed: it is being worked on already"):
        await at.by("coder").resume(task.id)
    with pytest.raises(WrongUse, match="coder has no task that is blocked; there is nothing to resume"):
        await at.by("coder").resume()


@pytest.mark.parametrize(
    ("act", "refusal"),
    [
        (lambda tasks, id: tasks.update(id, "x"), "is completed and cannot be updated: it has ended"),
        (lambda tasks, id: tasks.complete(id), "is completed and cannot be completed: it has ended"),
        (lambda tasks, id: tasks.block(Blocking("x", ("boss",)), id), "is completed and cannot be blocked"),
        (lambda tasks, id: tasks.fail(id, "x"), "is completed and cannot be given up"),
    ],
)
async def test_what_has_ended_stays_as_it_is(at, act, refusal):
    task = await at.by("coder").start(NewTask("x"))
    await at.by("coder").complete()

    with pytest.raises(WrongUse, match=refusal):
        await act(at.by("coder"), task.id)


async def test_agents_work_on_their_own_tasks_alone(at):
    """E-30; leads and whoever asked for a task may approve and cancel it."""
    task = await at.by("coder").start(NewTask("x", requires_approval=True))
    asked = await at.by("tester").add(NewTask("y", assignee="coder"))

    with pytest.raises(WrongUse, match="is a task of coder; only coder or a person may do this to it"):
        await at.by("tester").update(task.id, "mine now")
    with pytest.raises(WrongUse, match="is a task of coder"):
        await at.by("tester").approve(task.id)
    assert (await at.by("boss").approve(task.id)).status == "in_progress"
    assert (await at.by("tester").cancel(asked.id)).status == "cancelled"
    assert (await at.person().update(task.id, "seen")).progress == ("seen",)


async def test_a_person_names_an_agent_that_exists_or_a_task(at):
    with pytest.raises(WrongUse, match="no agent 'codre'; known are boss, coder, tester"):
        at.person("codre")
    with pytest.raises(WrongUse, match="needs an agent; name one, or a task"):
        await at.person().update(progress="x")


async def _blocked(at: Moment, *by: str) -> Task:
    await at.by("coder").start(THREE)
    return await at.by("coder").block(
        Blocking("no key", by or ("tester",), "send it", 7, 3, "now", "failed", 9)
    )


class Full(MemoryJournal):
    """A journal that takes nothing more."""

    full = False

    def append(self, stream, expected, drafts):
        if not self.full:
            return super().append(stream, expected, drafts)
        refused = asyncio.get_running_loop().create_future()
        refused.set_exception(OperationFailed("the disk is full"))
        return refused


async def test_a_write_that_fails_leaves_neither_an_event_nor_another_task():
    """E-25: nothing is told of a task that is not durable."""
    at = Moment()
    at.journal = journal = Full(at.clock.monotonic)
    at.desk = TaskService(journal, at.clock, graph())
    task = await at.by("coder").start(THREE)
    journal.full = True

    with pytest.raises(OperationFailed, match="the disk is full"):
        await at.by("coder").complete(task.id, force=True)

    assert await at.desk.get(task.id) == task
    assert [event.type for event in await at.events(task.id)] == ["task.started"]
