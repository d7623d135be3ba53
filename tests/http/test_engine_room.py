"""Runs that a server begins for clients, goes on with for others, and leaves behind when it stops."""

import asyncio

import pytest

from folkmoot import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.engine.workers import EVERY, PATIENCE, RunResumer
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.http.runs import GRACE, RunManager
from folkmoot.ports import Query
from tests.desk import SETTINGS, Desk
from tests.orchestration.test_client_tools import BROUGHT

TOGETHER = {"report": "said", "barrier": "two of us/2"}
"""An answer that waits for another one."""
ASKS = [{"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}, {"report": "that one"}]


@pytest.fixture
def moot(desk):
    agents = {"a": "description: works", "q": "tools: [ask_user]", "long": "", "longer": ""}
    alone = {"report": "never said", "barrier": "nobody comes/2"}
    return desk(agents, {"a": ["done"], "q": ASKS, "long": [TOGETHER], "longer": [alone]})


async def types(desk: Desk, run: str) -> list[str]:
    return [entry.draft.event.type async for entry in desk.journal.read(Query(stream=run))]


async def ended(moot: Folkmoot, run: str, status: str) -> None:
    for _ in range(10_000):
        if {row.run_id: row.status for row in await moot.runs()}.get(run) == status:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{run} is not {status}")


async def left(desk: Desk, room: RunManager) -> None:
    leaving = asyncio.create_task(room.close())
    await desk.clock.advance(GRACE + 1)
    await leaving


async def test_a_run_is_begun_when_it_is_durable_and_goes_on_by_itself(moot):
    async with moot.open() as opened, RunManager(opened) as room:
        run = await room.begin("a.ai", "hello", Errand(label="A greeting"))
        before = await types(moot, run)
        await ended(opened, run, "completed")

    assert before[0] == "run.started"


async def test_what_speaks_against_a_run_is_told_to_whoever_wants_it(moot):
    async with moot.open() as opened, RunManager(opened) as room:
        with pytest.raises(WrongUse, match="nobody"):
            await room.begin("nobody.ai", "hello")
        assert await opened.runs() == []


async def test_a_run_that_was_answered_from_elsewhere_goes_on(moot):
    """DESIGN 8: an answer is recorded; `serve` then continues the run."""
    async with moot.open() as terminal:
        waiting = await terminal.run("q.ai", "hello")
    async with moot.open() as opened, RunManager(opened):
        await moot.clock.advance(3 * EVERY)
        still = (await opened.result(waiting.run_id)).status
        async with moot.open() as terminal:
            (item,) = await terminal.inbox()
            await terminal.reply(item.answer("the red one"))
        await moot.clock.advance(EVERY)
        await ended(opened, waiting.run_id, "completed")

    assert (waiting.status, still) == ("waiting", "waiting")


async def test_a_run_whose_client_does_not_come_back_is_ended_when_its_time_is_over(desk):
    """Whoever serves looks for it: nobody would otherwise."""
    calls = [{"calls": [{"tool": "get_weather", "arguments": {"city": "Bonn"}}]}]
    at = desk({"a": ""}, {"a": calls}, settings=SETTINGS + "limits: {clientCall: 1m}\n")
    async with at.open() as opened, RunManager(opened) as room:
        run = await room.begin("a.ai", "hello", BROUGHT)
        await ended(opened, run, "waiting")
        await at.clock.advance(58)
        still = (await opened.result(run)).status
        await at.clock.advance(2 + EVERY)
        await ended(opened, run, "cancelled")
        error = (await opened.result(run)).error

    assert still == "waiting"
    assert error == "its client did not bring the result of get_weather until 2026-01-01T00:01:00.000Z"


async def test_a_run_whose_process_left_it_goes_on_and_one_that_is_held_does_not(moot):
    """Left as after a crash between two steps: no end, and nobody who has it."""
    said: list[str] = []
    async with moot.open() as first, moot.open() as second:
        room, other = RunManager(first), RunManager(second)
        other.say = said.append
        async with other:
            run = await room.begin("long.ai", "hello")
            await moot.clock.advance(3 * EVERY)
            held = list(said)
            await left(moot, room)
            before = await types(moot, run)

            await moot.clock.advance(EVERY)
            await other.begin("long.ai", "the second at the barrier")
            await ended(second, run, "completed")

    assert held == []
    assert said == [f"goes on with run {run}", f"run {run}: completed"]
    assert len(moot.model.heard_from("long")) == 3
    assert not {"run.completed", "run.cancelled", "run.failed"} & set(before)


async def test_a_run_that_cannot_go_on_is_told_of_and_tried_again_later(moot):
    async with moot.open() as terminal:
        run = (await terminal.run("q.ai", "hello")).run_id
        (item,) = await terminal.inbox()
    async with moot.open() as terminal:
        await terminal.reply(item.answer("the red one"))
    tried, said = [], []

    async def fail(run: str):
        tried.append(run)
        raise OperationFailed("the disk is full")

    caretaker = RunResumer(moot.journal, moot.clock, fail)
    caretaker.say = said.append
    working = asyncio.create_task(caretaker.work())
    await moot.clock.advance(PATIENCE - 2)
    once = list(tried)
    await moot.clock.advance(4)
    working.cancel()

    assert (once, tried) == ([run], [run, run])
    assert said[1] == f"run {run} cannot go on here, and is tried again in 60 s: the disk is full"


async def test_a_client_that_goes_takes_its_run_with_it_where_it_wants_that(moot):
    """O-43."""
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async with moot.open() as opened, RunManager(opened) as room:
        run, other = await room.begin("long.ai", "hello"), await room.begin("longer.ai", "hello")
        attending = asyncio.create_task(room.attended(run, receive))
        gone.set()
        await attending
        await ended(opened, run, "cancelled")
        going = room.task(other)
        await left(moot, room)

    assert going is not None
    assert "run.cancelled" not in await types(moot, other)


async def test_a_client_that_stays_gets_its_run_to_the_end(moot):
    async with moot.open() as opened, RunManager(opened) as room:
        run = await room.begin("a.ai", "hello")
        await room.attended(run, asyncio.Event().wait)
        assert (await opened.result(run)).status == "completed"


async def test_stopping_waits_for_calls_under_way_and_cancels_nothing(moot):
    async with moot.open() as opened:
        room = RunManager(opened)
        run = await room.begin("long.ai", "hello")
        leaving = asyncio.create_task(room.close())
        await moot.clock.advance(9)
        waited = not leaving.done()
        await moot.clock.advance(2)
        await leaving

    assert waited
    assert (await types(moot, run))[-1] == "llm.request"


async def test_in_front_of_a_shared_journal_runs_are_left_to_the_workers(desk, storage):
    settings = f"{SETTINGS}storage: {{url: '{storage.url}', project: {storage.project}}}\n"
    made = desk({"a": "description: works"}, {"a": ["done"]}, settings=settings)
    async with Folkmoot.open(made.folder, models={"scripted": made.model}) as opened:
        async with RunManager(opened) as room:
            run = await room.begin("a.ai", "hello")

        assert room.task(run) is None
        assert [(row.run_id, row.status) for row in await opened.runs()] == [(run, "queued")]
