"""Team state: who stands how, folded from the journal."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.team import failure_of
from folkmoot.domain.agent import Member
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import LlmRequest, RunFailed, RunParked
from folkmoot.engine.clock import SystemClock
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch
from folkmoot.views.team import projected
from tests.simulation import World, found_by
from tests.watching import HOUR, MINUTE, Post, graph


@pytest.fixture
def post() -> Post:
    clock = FakeClock()
    return Post(MemoryJournal(clock.monotonic), clock)


async def members(moot: Moot) -> dict[str, Member]:
    return {each.agent_id: each for each in await moot.team.members(await moot.tasks.all())}


async def test_each_agent_has_its_role_task_heartbeat_and_status(post):
    """E-51, U-3."""
    task = await post.task("coder")
    await post.clock.advance(MINUTE)
    await post.crew.begin("coder", Errand(task=task.id))

    team = await members(post.moot)

    assert team["boss"] == Member("boss", "lead", "idle")
    assert team["coder"] == Member("coder", "worker", "active", task.id, "2026-01-01T00:01:00.000Z")


async def test_every_sign_of_life_of_a_run_under_way_is_a_heartbeat(post):
    """E-51."""
    await post.crew.begin("coder")
    assert (await members(post.moot))["coder"].last_heartbeat == "2026-01-01T00:00:00.000Z"
    await post.clock.advance(20)
    asked = Draft(post.clock.now(), LlmRequest(1, 1, "s/m", 1, 1), "run-cut-off", "0", "coder")
    await post.journal.append("run-cut-off", Epoch(1), [asked])

    assert (await members(post.moot))["coder"].last_heartbeat == "2026-01-01T00:00:20.000Z"


async def test_a_run_that_was_cut_off_shows_as_interrupted_and_one_that_waits_does_not(post):
    """E-51."""
    await post.crew.begin("coder")
    await post.crew.begin("tester", run="run-parked")
    parked = Draft(post.clock.now(), RunParked(("q",)), "run-parked", "0", "tester")
    await post.journal.append("run-parked", Epoch(1), [parked])
    await post.clock.advance(31)

    team = await members(post.moot)

    assert (team["coder"].status, team["tester"].status) == ("interrupted", "idle")


async def test_a_run_that_goes_on_after_waiting_is_active_again(post):
    """E-51: whoever reads all of it at once, or as it comes."""
    await post.crew.begin("coder", run="run-1")
    events = (LlmRequest(1, 1, "s/m", 1, 1), RunParked(("q",)), LlmRequest(2, 1, "s/m", 1, 1))
    statuses = []
    for event in events:
        await post.journal.append("run-1", Epoch(1), [Draft(post.clock.now(), event, "run-1", "0", "coder")])
        fresh = Moot(post.journal, post.clock, post.graph)
        statuses.append([(await members(moot))["coder"].status for moot in (post.moot, fresh)])

    assert statuses == [["active"] * 2, ["idle"] * 2, ["active"] * 2]


async def test_failures_in_a_row_are_counted_until_a_success(post):
    """E-51."""
    post.crew.errors["coder"] = "local answered 429 Too Many Requests"
    await post.crew.run("coder")
    await post.crew.run("coder")
    failed = (await members(post.moot))["coder"]
    post.crew.errors.clear()
    await post.crew.run("coder")

    assert (failed.consecutive_failures, failed.last_failure_reason) == (2, "rate_limit")
    assert (await members(post.moot))["coder"].consecutive_failures == 0


async def test_an_agent_whose_task_was_given_up_is_interrupted_until_it_works_again(post):
    """E-41, E-51."""
    task = await post.task("coder")
    await post.clock.advance(HOUR)
    await post.agent("coder").fail(task.id, "it broke")
    assert (await members(post.moot))["coder"].status == "interrupted"

    await post.clock.advance(HOUR)
    await post.crew.run("coder")
    assert (await members(post.moot))["coder"].status == "idle"


async def test_the_file_has_the_fields_it_always_had(post):
    """E-51: `team-state.json`."""
    task = await post.task("coder")
    post.crew.errors["coder"] = "billing_error"
    await post.crew.run("coder", Errand(task=task.id))
    await post.look()

    (text,) = projected(list((await members(post.moot)).values())).values()

    state = json.loads(text)
    assert state["version"] == 1
    assert state["lastUpdatedMs"] == 1_767_225_600_000
    assert state["agents"]["coder"] == {
        "agentId": "coder",
        "role": "worker",
        "currentTaskId": task.id,
        "lastHeartbeatMs": 1_767_225_600_000,
        "status": "idle",
        "consecutiveFailures": 1,
        "lastFailureReason": "billing",
        "backoffUntilMs": 1_767_229_200_000,
    }


@pytest.mark.parametrize("readers", [1, 4])
def test_concurrent_updates_lose_nothing_and_concurrent_readers_count_nothing_twice(readers):
    """E-53, O-40: whoever reads when, the state is that of somebody who reads everything at the end."""

    async def differs(world: World) -> bool:
        post = Post(world.journal, world.clock)
        post.crew.errors["coder"] = "the dog ate it"
        team = Moot(world.journal, world.clock, post.graph)

        async def read() -> None:
            for _ in range(5):
                await members(team)

        await asyncio.gather(
            *(post.crew.run("coder") for _ in range(5)),
            *(post.task("coder", f"task {n}") for n in range(5)),
            *(read() for _ in range(readers)),
        )
        warm, cold = await members(team), await members(Moot(world.journal, world.clock, post.graph))
        return warm != cold or cold["coder"].consecutive_failures != 5 or len(await team.tasks.all()) != 5

    assert found_by(range(100), differs) == []


WRITER = """
import asyncio, sys
from pathlib import Path
from folkmoot.domain.errand import Errand
from folkmoot.engine.clock import SystemClock
from folkmoot.journal.sqlite import SqliteJournal
from tests.coordination.team.test_team import members
from tests.watching import Post
import time

async def main():
    journal = SqliteJournal.open(Path(sys.argv[1]), time.monotonic)
    post = Post(journal, SystemClock())
    task = await post.task("coder")
    post.crew.errors["coder"] = "billing_error"
    await post.crew.run("coder", Errand(task=task.id))
    await post.look()
    await post.crew.begin("tester")
    print([repr(each) for each in (await members(post.moot)).values()], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def said_before_it_was_killed(folder: Path) -> str:
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    return said


async def test_the_state_survives_a_kill(tmp_path):
    """E-52: kill -9, restart, same state; nothing was saved on the way out, because there is nothing to save."""
    before = said_before_it_was_killed(tmp_path)

    journal = SqliteJournal.open(tmp_path, time.monotonic)
    after = await members(Moot(journal, SystemClock(), graph()))
    await journal.close()

    assert f"{[repr(each) for each in after.values()]}\n" == before
    assert after["tester"].status == "active"
    assert after["coder"].backoff_until


async def test_what_is_read_again_is_only_what_is_new(post):
    """E-51: the cost of asking does not grow with the history."""
    for _ in range(50):
        await post.crew.run("coder")
    await members(post.moot)
    read: list[str] = []
    reading = post.journal.read

    async def counted(query):
        async for entry in reading(query):
            read.append(entry.event.type)
            yield entry

    post.journal.read = counted
    await post.crew.run("coder")
    await members(post.moot)

    assert len(read) <= 5 + 1  # the run, and where the journal ends


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("openai answered 429 Too Many Requests: slow down", "rate_limit"),
        ("anthropic answered 529: overloaded_error", "rate_limit"),
        ("openai answered 429: insufficient_quota", "billing"),
        ("no model answered after 3 attempts; the last: local timed out", "timeout"),
        ("this model's maximum context_length_exceeded", "context_overflow"),
        ("x answered 500", "unknown"),
    ],
)
def test_the_words_of_a_failure_give_its_reason(error, reason):
    """E-43."""
    assert failure_of(RunFailed(error=error, stop_reason="SYSTEM_ERROR"), "").reason == reason


def test_a_full_context_is_known_by_the_stop_reason():
    """E-43."""
    assert failure_of(RunFailed(error="full", stop_reason="CONTEXT"), "").reason == "context_overflow"
    assert (
        failure_of(RunFailed(error="429; reset after 37s", stop_reason="SYSTEM_ERROR"), "").reset_after == 37
    )
