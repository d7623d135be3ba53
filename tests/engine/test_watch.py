"""The watch: when what is due, and who is then told what."""

import asyncio
import sqlite3

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.duration import later
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunParked
from folkmoot.domain.settings import TaskContinuation
from folkmoot.domain.task import Interrupted, Task
from folkmoot.errors import OperationFailed
from folkmoot.journal.database import FILE, FOLDER
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Query
from tests.watching import HOUR, MINUTE, Post

SENT, BACKOFF, REMINDED = "continuation.sent", "continuation.backoff", "resume_reminder.sent"


@pytest.fixture
def post() -> Post:
    clock = FakeClock()
    return Post(MemoryJournal(clock.monotonic), clock)


# Continuation


async def test_an_idle_task_starts_one_run_of_its_agent_after_three_minutes(post):
    """E-32, E-34, X-22."""
    task = await post.task()
    await post.clock.advance(3 * MINUTE - 1)
    assert await post.look() == []

    await post.clock.advance(1)
    assert await post.look() == [SENT]
    assert await post.look() == []

    ((request, errand),) = post.crew.errands
    assert task.id in request
    assert (errand.task, errand.work_session) == (task.id, task.work_session_id)
    (block,) = errand.blocks
    assert block.tag == "task"
    assert "build it" in block.text
    assert "build it" not in request


async def test_an_agent_is_not_told_again_within_five_minutes(post):
    """E-43: the cooldown of a task."""
    await post.task()
    await post.clock.advance(4 * MINUTE)
    await post.look()
    await post.clock.advance(5 * MINUTE - 1)
    assert await post.look() == []

    await post.clock.advance(1)
    assert await post.look() == [SENT]


async def test_whoever_does_something_is_left_alone(post):
    """E-34: activity on the task, or a run on it that ended a moment ago."""
    task = await post.task()
    await post.clock.advance(4 * MINUTE)
    await post.agent("coder").update(task.id, "half of it")
    assert await post.look() == []

    await post.clock.advance(4 * MINUTE)
    await post.crew.run("coder", Errand(task=task.id))
    assert await post.look() == []
    await post.clock.advance(3 * MINUTE)
    assert await post.look() == [SENT]


async def test_a_busy_agent_is_left_alone_until_its_run_is_over_or_nobody_holds_it(post):
    """E-43."""
    await post.task()
    await post.clock.advance(4 * MINUTE)
    await post.crew.begin("coder")
    assert await post.look() == []

    await post.clock.advance(31)
    assert await post.look() == [SENT]


async def test_a_task_whose_run_waits_for_a_person_is_not_gone_on_with(post):
    task = await post.task()
    await post.crew.begin("coder", Errand(task=task.id), "run-parked")
    parked = Draft(post.clock.now(), RunParked(("q",)), "run-parked", "0", "coder")
    await post.journal.append("run-parked", Epoch(1), [parked])
    await post.clock.advance(HOUR)

    assert await post.look() == []


async def test_tasks_that_wait_for_approval_are_left_alone(post):
    """E-43."""
    await post.agent("coder").start(NewTask("risky", requires_approval=True), chance="1")
    await post.clock.advance(2 * 24 * HOUR)

    assert await post.look() == []


async def test_the_watch_says_nothing_while_it_is_disabled(post):
    """E-33."""
    off = Post(post.journal, post.clock, TaskContinuation(enabled=False))
    await off.task()
    await off.clock.advance(2 * 24 * HOUR)

    assert await off.look() == []


async def test_thresholds_are_those_of_the_settings(post):
    """E-33."""
    short = Post(post.journal, post.clock, TaskContinuation(idle_threshold=10, zombie_task_ttl=HOUR))
    await short.task()
    await short.clock.advance(10)
    assert await short.look() == [SENT]
    await short.clock.advance(HOUR)
    assert (await short.look())[0] == "zombie.abandoned"


# Back-off


@pytest.mark.parametrize(
    ("error", "reason", "minutes"),
    [
        ("local answered 429 Too Many Requests", "rate_limit", 1),
        ("local answered 429: reset after 150s", "rate_limit", 2.5),
        ("local answered 429: reset after 2s", "rate_limit", 10 / 60),
        ("local answered 402 Payment Required", "billing", 60),
        ("local answered 429: insufficient_quota", "billing", 60),
        ("timed out after 60 s", "timeout", 1),
        ("local answered 400: context_length_exceeded", "context_overflow", 30),
        ("the dog ate it", "unknown", 5),
    ],
)
async def test_an_agent_that_failed_is_left_alone_for_as_long_as_its_reason_says(
    post, error, reason, minutes
):
    """E-43: each row of the table."""
    task = await post.task()
    post.crew.errors["coder"] = error
    await post.crew.run("coder", Errand(task=task.id))
    assert await post.look() == [BACKOFF]
    assert await post.look() == []

    (backoff,) = [event for event in await post.events(task) if event.type == BACKOFF]
    assert (backoff.agent, backoff.reason, backoff.failures) == ("coder", reason, 1)
    waited = max(minutes * MINUTE, 3 * MINUTE)
    await post.clock.advance(waited - 1)
    assert await post.look() == []
    await post.clock.advance(1)
    assert await post.look() == [SENT]


async def test_each_failure_in_a_row_doubles_the_wait_up_to_eight_times_and_success_ends_it(post):
    """E-43."""
    task = await post.task()
    post.crew.errors["coder"] = "the dog ate it"
    waits = []
    for _ in range(6):
        await post.crew.run("coder", Errand(task=task.id))
        failed = post.clock.monotonic()
        await post.look()
        while SENT not in await post.look():
            await post.clock.advance(30)
        waits.append((post.clock.monotonic() - failed) / MINUTE)

    assert waits == pytest.approx([5, 20, 40, 40, 40, 40])  # being told to go on failed, too
    post.crew.errors.clear()
    await post.crew.run("coder")
    coder = (await post.moot.team.members(await post.moot.tasks.all()))[1]
    assert (coder.consecutive_failures, coder.last_failure_reason, coder.backoff_until) == (0, "", "")


async def test_nobody_is_left_alone_for_more_than_two_hours(post):
    """E-43."""
    task = await post.task()
    post.crew.errors["coder"] = "billing_error"
    for _ in range(3):
        await post.crew.run("coder", Errand(task=task.id))
    await post.look()

    (backoff,) = [event for event in await post.events(task) if event.type == BACKOFF]
    assert (backoff.failures, backoff.until) == (3, "2026-01-01T02:00:00.000Z")


async def test_an_agent_that_cannot_be_started_is_left_alone_too(post):
    """E-43: no run tells of it, so the watch does."""
    task = await post.task()
    post.crew.unreachable.add("coder")
    await post.clock.advance(5 * MINUTE)

    assert await post.look() == [SENT, "trouble"]
    assert await post.types(task) == [SENT, BACKOFF]


# Blocked tasks


async def test_those_who_can_help_are_asked_in_turn_three_times_half_an_hour_apart(post):
    """E-40, E-43, X-E8."""
    task = await post.blocked("tester", "ops")
    post.crew.errors |= {"tester": "no", "ops": "no"}

    for _ in range(6):
        await post.look()
        await post.clock.advance(30 * MINUTE - 1)
        assert await post.look() == []
        await post.clock.advance(1)

    assert post.crew.told == [("tester", task.id), ("ops", task.id), ("tester", task.id)]
    asked = [event for event in await post.events(task) if event.type == "unblock.requested"]
    assert [(event.attempt, event.escalated) for event in asked] == [(1, False), (2, False), (3, True)]
    assert [event.channel for event in asked] == ["", "", "internal"]
    assert (await post.moot.tasks.get(task.id)).blocking.escalation_state == "escalated"
    (block,) = post.crew.errands[0][1].blocks
    assert task.id in post.crew.errands[0][0]
    assert "no access" in block.text
    assert "grant access" in block.text


async def test_whoever_may_not_be_asked_is_passed_over_and_does_not_count(post):
    """E-43: a denial is no attempt."""
    task = await post.blocked("tester", "ops")
    post.crew.denied["tester"] = "tester may not be asked"

    await post.look()

    assert post.crew.told == [("ops", task.id)]
    assert (await post.moot.tasks.get(task.id)).blocking.unblock_request_count == 1


async def test_if_nobody_may_be_asked_the_request_has_failed(post):
    """E-43, E-46."""
    task = await post.blocked("tester", "ops")
    post.crew.denied |= {"tester": "tester may not be asked", "ops": "nor may ops"}

    assert await post.look() == ["unblock.failed"]
    assert await post.look() == []

    assert (await post.moot.tasks.get(task.id)).blocking.escalation_state == "failed"
    assert post.crew.told == []


async def test_after_three_requests_that_did_not_get_through_it_has_failed(post):
    """E-43."""
    task = await post.blocked("tester")
    post.crew.unreachable.add("tester")
    for _ in range(3):
        await post.look()
        await post.clock.advance(30 * MINUTE)

    blocking = (await post.moot.tasks.get(task.id)).blocking
    assert (blocking.unblock_request_failures, blocking.escalation_state) == (3, "failed")
    assert await post.look() == []


async def test_who_is_helped_is_reminded_once_and_hears_the_answer(post):
    """E-39, E-46: the resume reminder."""
    task = await post.blocked("tester")
    await post.clock.advance(1)
    await post.look()
    await post.clock.advance(1)

    assert await post.look() == [REMINDED]
    await post.clock.advance(10 * MINUTE)
    assert await post.look() == []

    assert post.crew.told == [("tester", task.id), ("coder", task.id)]
    _, heard = post.crew.errands[1][1].blocks
    assert (heard.tag, heard.agent, heard.text) == ("response", "tester", "tester did it")


async def test_a_reminder_that_was_recorded_but_never_sent_is_sent_after_its_cooldown(post):
    """E-39: its watcher was killed in between; the timer is in the journal."""
    task = await post.blocked("tester")
    await post.clock.advance(1)
    await post.look()
    await post.clock.advance(1)
    killed = post.watcher()
    killed._tell = lambda move: None
    await killed.tick()

    await post.clock.advance(3 * MINUTE - 1)
    assert await post.look() == []
    await post.clock.advance(1)
    assert await post.look() == [REMINDED]
    assert post.crew.told[1:] == [("coder", task.id)]


async def test_a_prompt_that_was_recorded_but_never_sent_is_sent_after_its_cooldown(post):
    """E-34: its watcher was killed between the record and the run."""
    await post.task()
    await post.clock.advance(4 * MINUTE)
    killed = post.watcher()
    killed._tell = lambda move: None
    await killed.tick()
    assert await post.look() == []

    await post.clock.advance(5 * MINUTE)
    assert await post.look() == [SENT]


# Zombies and leads


async def test_a_task_nobody_works_on_goes_back_twice_and_is_interrupted_the_third_time(post):
    """E-41, E-42, E-28, X-E2, O-12."""
    task = await post.task()
    post.crew.denied["coder"] = "coder does nothing in this scene"
    statuses = []
    for _ in range(3):
        await post.clock.advance(24 * HOUR - 1)
        assert await post.look() == []
        await post.clock.advance(1)
        await post.look()
        statuses.append((await post.moot.tasks.get(task.id)).status)
        if statuses[-1] == "backlog":
            await post.agent("coder").pick(task.id)

    assert statuses == ["backlog", "backlog", "interrupted"]
    given_up = [event for event in await post.events(task) if event.type == "zombie.abandoned"]
    assert [event.status for event in given_up] == ["backlog", "backlog", "interrupted"]
    assert isinstance((await post.moot.tasks.get(task.id)).outcome, Interrupted)
    assert post.crew.told == [("boss", task.id)]
    assert "coder" in post.crew.errands[0][0]


async def interrupted(post: Post, agent: str) -> str:
    task = await post.task(agent)
    for _ in range(3):
        post.crew.denied[agent] = "does nothing in this scene"
        await post.clock.advance(24 * HOUR)
        await post.keeper.tick()
        if (await post.moot.tasks.get(task.id)).status == "backlog":
            await post.agent(agent).pick(task.id)
    await post.keeper.told()
    return (await post.moot.tasks.get(task.id)).status


async def test_the_lead_is_not_told_of_its_own_task(post):
    """E-42."""
    assert await interrupted(post, "boss") == "interrupted"
    del post.crew.denied["boss"]
    await post.look()

    assert post.crew.told == []


async def test_the_lead_of_a_killed_watcher_is_told_by_the_next_one(post):
    """E-42."""
    telling, post.keeper._tell = post.keeper._tell, lambda move: None
    await interrupted(post, "coder")
    assert post.crew.told == []
    post.keeper._tell = telling

    await post.clock.advance(5 * MINUTE - 1)
    assert await post.look() == []
    await post.clock.advance(1)
    assert await post.look() == ["zombie.reported"]
    assert await post.look() == []
    assert [agent for agent, _ in post.crew.told] == ["boss"]


async def test_a_lead_that_cannot_be_reached_is_tried_three_times(post):
    """E-42."""
    post.crew.unreachable.add("boss")
    await interrupted(post, "coder")
    tried = [await post.look() for _ in range(5) if not await post.clock.advance(5 * MINUTE)]

    assert tried == [["zombie.reported", "trouble"]] * 2 + [[]] * 3


async def test_a_task_that_somebody_is_working_on_is_no_zombie(post):
    """E-37: a run of it that is alive is activity."""
    task = await post.task()
    await post.clock.advance(24 * HOUR - 10)
    await post.crew.begin("coder", Errand(task=task.id))
    await post.clock.advance(20)

    assert await post.look() == []


# Backlog


async def test_an_agent_without_a_task_gets_the_first_of_its_backlog(post):
    """E-43, E-46."""
    await post.agent("coder").add(NewTask("some day", priority="low"), chance="1")
    urgent = await post.agent("coder").add(NewTask("now", priority="urgent"), chance="2")
    await post.agent("coder").add(NewTask("later", priority="urgent", start_date="2027-01-01"), chance="3")

    assert await post.look() == ["backlog.auto_picked"]
    assert await post.look() == []

    assert (await post.moot.tasks.get(urgent.id)).status == "in_progress"
    assert post.crew.told == [("coder", urgent.id)]


# What must not stop it


async def test_a_damaged_task_does_not_stop_the_others(tmp_path):
    """E-38: of agent A; B is served."""
    clock = FakeClock()
    journal = SqliteJournal.open(tmp_path, clock.monotonic)
    post = Post(journal, clock)
    damaged = await post.task("coder")
    await post.task("tester")
    await clock.advance(4 * MINUTE)
    with sqlite3.connect(tmp_path / FOLDER / FILE) as database:
        database.execute(
            "UPDATE entry SET text = CAST(replace(CAST(text AS TEXT), 'build it', 'break it') AS BLOB) WHERE seq = 1"
        )
    database.close()

    assert await post.look() == ["trouble", SENT]
    assert post.done[0].task_id == damaged.id
    assert [agent for agent, _ in post.crew.told] == ["tester"]
    assert await post.look() == []
    await journal.close()


async def test_a_duty_that_fails_does_not_stop_the_others(post):
    """E-38; what else is due at a tick is seen to by its own desk."""

    async def fail() -> list[Task]:
        raise ValueError("no")

    async def settle() -> list[Task]:
        return [task]

    task = await post.task()
    post.keeper._duties = (fail, settle)

    assert await post.look() == ["trouble", "settled"]
    assert post.done[1].text == f"{task.id}, whose time was over"


async def test_the_watch_looks_again_and_again_and_stops_cleanly(post):
    """E-33: every checkInterval."""
    await post.task()
    working = asyncio.ensure_future(post.keeper.work())
    await post.clock.advance(2 * MINUTE - 1)
    assert post.done == []
    await post.clock.advance(2 * MINUTE + 1)
    assert [done.type for done in post.done] == [SENT]

    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert working.cancelled()


async def test_a_journal_that_cannot_be_read_for_a_while_does_not_end_the_watch(post):
    """E-38."""
    await post.task()
    reading = post.journal.read
    post.journal.read = _unreachable
    working = asyncio.ensure_future(post.keeper.work())
    await post.clock.advance(4 * MINUTE - 1)
    post.journal.read = reading
    await post.clock.advance(1)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)

    assert [done.type for done in post.done] == ["trouble", "trouble", SENT]


async def _unreachable(query: Query):
    raise OperationFailed("the server is gone")
    yield


# Clocks that are set


class Wall(FakeClock):
    """Its wall clock can be set; the monotonic one cannot."""

    ahead = 0.0

    def now(self) -> str:
        return later(super().now(), self.ahead)


@pytest.mark.parametrize("jump", [48 * HOUR, -48 * HOUR], ids=["forward", "back"])
async def test_a_wall_clock_that_jumps_makes_no_zombie_and_no_early_prompt(jump):
    """E-32, E-43: timers go by time that nobody can set."""
    clock = Wall()
    post = Post(MemoryJournal(clock.monotonic), clock)
    task = await post.task()
    await post.look()
    clock.ahead = jump
    assert await post.look() == []

    await clock.advance(2 * MINUTE)
    await post.agent("coder").update(task.id, "written while the clock is wrong")
    assert await post.look() == []
    await clock.advance(3 * MINUTE - 1)
    assert await post.look() == []
    clock.ahead = 0
    assert await post.look() == []
    await clock.advance(1)
    assert await post.look() == [SENT]
    await clock.advance(24 * HOUR - 3 * MINUTE - 1)
    assert "zombie.abandoned" not in await post.look()
    await clock.advance(1)
    assert "zombie.abandoned" in await post.look()
