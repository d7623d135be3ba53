"""Feeding sinks: from where each stands, in batches, beside everything else."""

import asyncio
import json
import math
from collections.abc import Sequence

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.domain.entry import Entry, role
from folkmoot.domain.events import SystemError
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.sinking import (
    ConfiguredSink,
    SinkFeeder,
    compute_retry_delay,
    count_lag,
    move_sink,
    read_sink_state,
)
from folkmoot.errors import OperationFailed, SinkFailed
from folkmoot.ports import Query
from tests.desk import SETTINGS, Desk
from tests.sinks.receiver import feeding, happen, noted, steps

EVERYTHING = SinkSettings("ndjson", events=("*",), batch=2)


class Taking:
    """A sink that keeps what it takes, after as many failures as it was told."""

    def __init__(self, *failures: Exception) -> None:
        self.batches: list[list[Entry]] = []
        self.failures = list(failures)
        self.kept: list[str] = []

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(list(entries))
        self.kept.append(kept)
        return f"{len(self.batches)} batches"

    async def close(self) -> None:
        pass

    @property
    def seqs(self) -> list[list[int]]:
        return [[entry.seq for entry in batch] for batch in self.batches]


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def clock():
    return FakeClock()


async def of_sink(journal, name="chat"):
    return [entry.event async for entry in journal.read(Query(stream=f"sink_{name}"))]


async def test_a_sink_goes_on_where_it_stood_and_its_position_is_recorded_once_per_batch(journal, clock):
    """E-48, E-64: over a restart nothing is lost and nothing comes twice."""
    sink = Taking()
    await happen(journal, *steps(1, 3))
    assert await feeding(journal, clock, sink, EVERYTHING).once()
    first = await of_sink(journal)

    await happen(journal, *steps(4, 4))
    assert await feeding(journal, clock, sink, EVERYTHING).once()

    assert sink.seqs == [[1, 2], [3], [6]]
    assert [moved.seq for moved in first] == [2, 3]
    assert [moved.seq for moved in await of_sink(journal)] == [2, 3, 6]


async def test_what_a_sink_wants_kept_is_given_back_to_it_after_a_restart(journal, clock):
    first, second = Taking(), Taking()
    await happen(journal, *steps(1, 2))
    await feeding(journal, clock, first, EVERYTHING).once()
    await happen(journal, *steps(3, 3))

    await feeding(journal, clock, second, EVERYTHING).once()

    assert (first.kept, second.kept) == ([""], ["1 batches"])


async def test_nothing_is_written_for_a_sink_to_which_nothing_happens(journal, clock):
    """Its own entries, and those of other sinks, are never sent on."""
    one, other = Taking(), Taking()
    await happen(journal, *steps(1, 2))
    outlets = [ConfiguredSink("one", EVERYTHING, one), ConfiguredSink("other", EVERYTHING, other)]

    for _ in range(3):
        await SinkFeeder(journal, clock, outlets).once()

    assert one.seqs == other.seqs == [[1, 2]]
    assert len([entry async for entry in journal.read(Query(prefix="sink_"))]) == 2


async def test_of_two_processes_that_feed_a_sink_one_gives_way(journal, clock):
    first, second = Taking(), Taking()
    settings = SinkSettings("ndjson", events=("*",), window=5.0)
    async with feeding(journal, clock, first, settings), feeding(journal, clock, second, settings):
        await happen(journal, *steps(1, 1))
        await clock.advance(5)
        await noted(journal, "sink.moved")
        await happen(journal, *steps(2, 2))
        await clock.advance(5)
        await noted(journal, "sink.moved", 2)

    assert [moved.seq for moved in await of_sink(journal)] == [1, 3]
    assert sorted((first.seqs, second.seqs), key=len) == [[[1]], [[1], [3]]]


async def test_of_two_that_catch_up_at_once_one_gives_way(journal, clock):
    told: list[str] = []
    await happen(journal, *steps(1, 2))
    barrier = asyncio.Barrier(2)
    both = [feeding(journal, clock, Meeting(barrier), EVERYTHING) for _ in range(2)]
    for sinking in both:
        sinking.say = told.append

    assert await asyncio.gather(*(sinking.once() for sinking in both)) == [True, True]

    assert told == ["sink chat: another process feeds it; this one gives way"]
    assert [moved.seq for moved in await of_sink(journal)] == [2]


class Meeting(Taking):
    """Takes a batch when the other one is about to, too."""

    def __init__(self, barrier: asyncio.Barrier) -> None:
        super().__init__()
        self._barrier = barrier

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        await self._barrier.wait()
        return await super().deliver(entries, kept)


class Shaky(MemoryJournal):
    """Cannot be read once."""

    failing = True

    def read(self, query: Query):
        if self.failing and query.stream:
            self.failing = False
            raise OperationFailed("the journal is not there")
        return super().read(query)


async def test_a_journal_that_is_away_for_a_while_is_read_when_it_is_back(clock):
    journal, sink, told = Shaky(), Taking(), []
    journal.failing = False
    await happen(journal, *steps(1, 2))
    journal.failing = True
    sinking = feeding(journal, clock, sink, EVERYTHING)
    sinking.say = told.append
    async with sinking:
        await clock.advance(60)
        await noted(journal, "sink.moved")

    assert told == ["sink chat: the journal is not there"]
    assert sink.seqs == [[1, 2]]


async def test_a_failing_sink_touches_neither_a_run_nor_another_sink(tmp_path):
    """U-8, E-66: a sink failure never breaks a run."""
    script = {"a": [{"report": "Done."}], "b": [{"report": "Checked."}]}
    desk = Desk(tmp_path, {"a": "handoff: b.ai", "b": "description: checks"}, script)
    alone = await desk.run("a.ai")
    desk = Desk(tmp_path, {"a": "handoff: b.ai", "b": "description: checks"}, script)
    broken = Taking(*[SinkFailed("127.0.0.1 answered 400", status=400)] * 100)
    wrong = Taking(*[ZeroDivisionError("a bug")] * 100)
    sound = Taking()
    settings = SinkSettings("ndjson", events=("*",), window=0.0)
    outlets = [
        ConfiguredSink("broken", settings, broken),
        ConfiguredSink("wrong", settings, wrong),
        ConfiguredSink("sound", settings, sound),
    ]

    async with SinkFeeder(desk.journal, desk.clock, outlets):
        played = await desk.run("a.ai")
        failed = await noted(desk.journal, "milestone.sync_failed")

    assert played.report == alone.report == "Checked."
    assert played.types == alone.types
    assert [failure.sink for failure in failed] == ["broken"]
    assert [entry.event.type for batch in sound.batches for entry in batch] == played.types
    assert (await read_sink_state(desk.journal, "broken")).seq == 0


async def test_a_program_feeds_the_sinks_of_its_project_beside_its_runs(tmp_path):
    """E-48: through Python; whoever leaves the block has everything written."""
    script = {"a": [{"report": "Done."}], "b": [{"report": "Checked."}]}
    settings = f"{SETTINGS}sinks: {{log: {{kind: ndjson, path: logs/moot.ndjson}}}}\n"
    desk = Desk(tmp_path, {"a": "handoff: b.ai", "b": "description: checks"}, script, settings=settings)

    async with desk.open() as moot, moot.sinking():
        await moot.run("a.ai", "hello")

    lines = (tmp_path / "logs" / "moot.ndjson").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == [
        "handoff.requested",
        "handoff.accepted",
        "handoff.completed",
    ]


async def test_that_a_sink_fails_is_an_event_for_operators_and_for_no_other_view(journal, clock):
    """E-5: milestone.sync_failed is system.observability; recorded once until the sink is back."""
    await happen(journal, *steps(1, 1))
    refused = SinkFailed("127.0.0.1 answered 404", status=404)

    for _ in range(3):
        assert not await feeding(journal, clock, Taking(refused), EVERYTHING).once()
    failed = [entry async for entry in journal.read(Query(types=("milestone.sync_failed",)))]

    assert [(entry.event.sink, entry.event.error, entry.event.seq) for entry in failed] == [
        ("chat", "127.0.0.1 answered 404", 0)
    ]
    assert role(failed[0].draft) == "system.observability"
    assert (await read_sink_state(journal, "chat")).failed == "127.0.0.1 answered 404"
    assert await feeding(journal, clock, Taking(), EVERYTHING).once()
    assert (await read_sink_state(journal, "chat")).failed == ""


async def test_a_bug_in_a_sink_is_a_failure_like_any_other(journal, clock):
    """U-8: swallowed, and a system event."""
    await happen(journal, *steps(1, 1))
    sinking = feeding(journal, clock, Taking(*[ZeroDivisionError("a bug")] * 5), EVERYTHING)
    trying = asyncio.ensure_future(sinking.once())
    await clock.advance(1 + 2 + 4 + 8)

    assert await trying is False
    assert [event.error for event in await of_sink(journal)] == ["ZeroDivisionError('a bug')"]


async def test_a_sink_can_be_moved_back_to_get_everything_again(journal, clock):
    """O-10: what is projected can be made again."""
    sink = Taking()
    await happen(journal, *steps(1, 2), SystemError("broken"))
    settings = SinkSettings("ndjson")
    await feeding(journal, clock, sink, settings).once()
    assert await count_lag(journal, settings, await read_sink_state(journal, "chat")) == 0

    await move_sink(journal, clock, "chat", 0)

    assert await count_lag(journal, settings, await read_sink_state(journal, "chat")) == 2
    await feeding(journal, clock, sink, settings).once()
    assert sink.seqs == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("attempt", "failure", "seconds"),
    [
        (1, SinkFailed("down"), 1.0),
        (4, SinkFailed("down"), 8.0),
        (99, SinkFailed("down"), 60.0),
        (1, SinkFailed("gone", status=404), 60.0),
        (3, SinkFailed("too often", status=429, wait=7.5), 7.5),
        (1, SinkFailed("too often", status=429, wait=0.0), 0.001),
        (1, SinkFailed("too often", status=429, wait=math.inf), 3_600.0),
        (1, SinkFailed("too often", status=429, wait=math.nan), 0.001),
    ],
)
def test_the_next_try_comes_later_each_time_or_when_the_sink_says(attempt, failure, seconds):
    """E-66: retry-after is honoured; otherwise the pauses grow."""
    assert compute_retry_delay(attempt, failure) == seconds
