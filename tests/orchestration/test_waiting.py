"""When a run has nothing left to do but to wait."""

import asyncio

import pytest

from folkmoot.orchestration.inbox import IdleMonitor
from folkmoot.session.steps import Parked


async def rounds(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_all_that_wait_give_up_together_when_nothing_works():
    room = IdleMonitor()
    ended = await asyncio.gather(room.wait("a"), room.wait("b"), return_exceptions=True)

    assert all(isinstance(end, Parked) for end in ended)
    assert room.given_up == {"a", "b"}


async def test_nobody_gives_up_while_something_works():
    room = IdleMonitor()
    with room:
        waiting = asyncio.ensure_future(room.wait("a"))
        await rounds(500)
        assert not waiting.done()
    with pytest.raises(Parked):
        await waiting


async def test_a_short_pause_between_two_works_is_no_rest():
    room = IdleMonitor()
    waiting = asyncio.ensure_future(room.wait("a"))
    for _ in range(20):
        with room:
            await rounds(3)
        await rounds(30)
    assert not waiting.done()
    with pytest.raises(Parked):
        await waiting


async def test_an_answer_wakes_only_those_that_wait_for_it():
    room = IdleMonitor(stay=True)
    first, second = asyncio.ensure_future(room.wait("a")), asyncio.ensure_future(room.wait("b"))
    await rounds(1)
    room.tell("a")
    await first
    await rounds(500)

    assert not second.done()
    second.cancel()
