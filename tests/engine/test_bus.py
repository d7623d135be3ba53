"""Whoever subscribes hears what is recorded, and nothing else; see E-44 and E-45."""

import asyncio
import logging

import pytest

from folkmoot.errors import WrongUse
from folkmoot.ports import Query
from tests.desk import Desk


def desk(tmp_path) -> Desk:
    return Desk(tmp_path, {"a": "description: a"}, {"a": [{"report": "fine"}]})


async def heard_until(wanted: asyncio.Event) -> None:
    async with asyncio.timeout(60):
        await wanted.wait()


async def test_a_subscriber_hears_the_types_it_named_as_they_become_durable(tmp_path):
    """E-44: subscribe and unsubscribe, with a wildcard."""
    runs, everything, ended = [], [], asyncio.Event()
    async with desk(tmp_path).open() as moot, moot.bus() as bus:
        bus.subscribe("run.*", lambda entry: runs.append(entry.event.type))
        bus.subscribe("*", lambda entry: everything.append(entry.event.type))
        bus.subscribe("run.completed", lambda _: ended.set())
        await moot.run("a", "hello")
        await heard_until(ended)

    assert runs == ["run.started", "run.completed"]
    assert len(everything) > len(runs)


async def test_who_has_unsubscribed_hears_no_more_nor_does_anybody_after_a_reset(tmp_path):
    """E-44: unsubscribe and reset."""
    left, stayed, emitted = [], [], asyncio.Event()
    async with desk(tmp_path).open() as moot, moot.bus() as bus:
        leave = bus.subscribe("*", left.append)
        bus.subscribe("*", stayed.append)
        leave()
        bus.subscribe("system.error", lambda _: emitted.set())
        await bus.emit("system.error", {"error": "the printer burns"})
        await heard_until(emitted)
        bus.reset()
        again = asyncio.Event()
        await bus.emit("system.error", {"error": "still"})
        bus.subscribe("system.error", lambda _: again.set())
        await bus.emit("system.error", {"error": "and on"})
        await heard_until(again)

    assert left == []
    assert len(stayed) == 1


@pytest.mark.parametrize(
    ("type", "data", "said"),
    [
        ("system.error", {}, "error"),
        ("system.error", {"error": 5}, "Expected `str`"),
        ("printer.burns", {}, "no event 'printer.burns'"),
    ],
)
async def test_an_event_that_is_not_what_its_type_says_is_refused_and_not_recorded(
    tmp_path, type, data, said
):
    """E-45: a missing field is an error, and nothing is in the journal."""
    played = desk(tmp_path)
    async with played.open() as moot, moot.bus() as bus:
        with pytest.raises(WrongUse, match=said):
            await bus.emit(type, data)

    assert [entry async for entry in played.journal.read(Query())] == []


async def test_a_listener_that_fails_harms_neither_the_others_nor_the_run(tmp_path, caplog):
    """5.1: listener errors never reach the emitter."""
    ended = asyncio.Event()

    def fail(_):
        raise RuntimeError("ouch")

    with caplog.at_level(logging.CRITICAL):
        async with desk(tmp_path).open() as moot, moot.bus() as bus:
            bus.subscribe("*", fail)
            bus.subscribe("run.completed", lambda _: ended.set())
            result = await moot.run("a", "hello")
            await heard_until(ended)

    assert result.success
