"""The hub: nothing is missed and nothing comes twice, whoever cuts whom off and when; see X-24."""

import asyncio
from contextlib import aclosing
from random import Random

import pytest

from folkmoot import MemoryJournal
from folkmoot.domain.plan import PlanCompleted
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.http.stream import hub as hubs
from folkmoot.http.stream.hub import Hub
from folkmoot.http.stream.tokens import WAITING, Delta, TokenStream
from folkmoot.ports import Filter, Query
from tests.desk import Desk
from tests.http.doors import until
from tests.http.onlooker import PATIENCE, Event, visited
from tests.sinks.receiver import happen, steps


def desk(tmp_path) -> Desk:
    return Desk(tmp_path, {"a": "description: a"}, {"a": [{"report": "fine"}]})


async def written(journal, chance: Random) -> None:
    """Steps of three plans, a few at a time, with other work in between; at last one of plan_2."""
    for _ in range(40):
        stream = chance.choice(("plan_1", "plan_2", "plan_3"))
        await happen(journal, *steps(1, chance.randint(1, 7)), stream=stream)
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(0)
    await happen(journal, PlanCompleted("plan_2", success=True), stream="plan_2")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("query", "stream"), [("after=0", ""), ("after=0&run=plan_2", "plan_2"), ("after=0&agent=coder", "")]
)
async def test_a_client_that_is_cut_off_anywhere_misses_nothing_and_gets_nothing_twice(
    tmp_path, seed, query, stream
):
    """X-24: a resume cursor. It is cut off at random while others write, and comes back with its last id."""
    chance, played = Random(seed), desk(tmp_path)
    seen: list[Event] = []
    async with played.open() as moot, visited(moot) as visitor:
        writing = asyncio.create_task(written(played.journal, Random(-seed)))
        while not seen or seen[-1].event != "plan.completed":
            async with visitor.stream(f"/api/stream?{query}", last=seen[-1].id if seen else "") as part:
                for _ in range(chance.randint(1, 40)):
                    seen += await part.take(1)
                    if seen[-1].event == "plan.completed":
                        break
        await writing

    assert [event.id for event in seen] == [
        entry.seq async for entry in played.journal.read(Query(stream=stream))
    ]


class Counting(MemoryJournal):
    """Counts who follows, and what is read."""

    followers = read_entries = 0

    async def follow(self, after=0):
        self.followers += 1
        async for entry in super().follow(after):
            self.read_entries += 1
            yield entry


async def take(hub: Hub, count: int, wanted=Filter(), after=None) -> list[int]:
    seqs: list[int] = []
    async with asyncio.timeout(PATIENCE), aclosing(hub.subscribe(wanted, after)) as entries:
        async for entry in entries:
            seqs.append(entry.seq)
            if len(seqs) == count:
                break
    return seqs


async def test_fifty_who_look_on_cost_one_reader(tmp_path):
    played = desk(tmp_path)
    played.journal = journal = Counting(played.clock.monotonic)
    async with played.open() as moot:
        hub = Hub(moot)
        looking = [asyncio.create_task(take(hub, 40)) for _ in range(50)]
        await until(lambda: len(hub._seats) == 50)
        await happen(journal, *steps(1, 40))
        seen = await asyncio.gather(*looking)
        await until(lambda: hub._reading is None)

    assert seen == [list(range(1, 41))] * 50
    assert (journal.followers, journal.read_entries) == (1, 40)


async def test_who_is_slow_keeps_no_more_than_its_room_and_loses_nothing(tmp_path, monkeypatch):
    """A bounded queue; when it overflows, its owner goes on from the journal by the last entry that it has."""
    monkeypatch.setattr(hubs, "ROOM", 10)
    played = desk(tmp_path)
    async with played.open() as moot:
        hub = Hub(moot)
        async with asyncio.timeout(PATIENCE), aclosing(hub.subscribe(Filter(agent="coder"))) as entries:
            first = asyncio.create_task(anext(entries))
            await until(lambda: hub._seats)
            (seat,) = hub._seats
            seen, number = [], 0
            for burst in (1, 25, 3, 40):
                for _ in range(burst):
                    number += 1
                    await happen(played.journal, *steps(1, 1), stream=f"plan_{number % 3}")
                await played.clock.advance(0)
                assert seat._waiting.qsize() <= 11
                while len(seen) < number:
                    seen.append((await (first if not seen else anext(entries))).seq)

    assert seen == list(range(1, number + 1))


async def test_who_comes_back_long_after_is_told_by_the_index_and_then_live(tmp_path, monkeypatch):
    monkeypatch.setattr(hubs, "PAGE", 4)
    played = desk(tmp_path)
    async with played.open() as moot:
        for number in range(9):
            await happen(
                played.journal, *steps(1, 2), stream=f"plan_{number}", agent=("coder", "tester")[number % 2]
            )
        hub = Hub(moot)
        looking = asyncio.create_task(take(hub, 9, Filter(agent="coder", types=("step.*",)), after=2))
        await until(lambda: hub._seats)
        await happen(played.journal, *steps(1, 1), stream="plan_live", agent="coder")

    assert await looking == [5, 6, 9, 10, 13, 14, 17, 18, 19]


async def test_who_knows_more_than_the_hub_is_told_none_of_it_again(tmp_path):
    played = desk(tmp_path)
    async with played.open() as moot:
        hub = Hub(moot)
        looking = asyncio.create_task(take(hub, 1, after=3))
        await until(lambda: hub._seats)
        await happen(played.journal, *steps(1, 4))

    assert await looking == [4]


async def test_who_comes_as_the_last_one_leaves_misses_nothing(tmp_path):
    played = desk(tmp_path)
    async with played.open() as moot:
        hub = Hub(moot)
        await happen(played.journal, *steps(1, 1))
        for number in range(2, 6):
            entries = hub.subscribe(after=number - 2)
            assert (await anext(entries)).seq == number - 1
            await happen(played.journal, *steps(1, 1))
            await entries.aclose()

    assert await take(hub, 4, after=1) == [2, 3, 4, 5]


async def test_a_journal_that_is_closed_ends_every_subscription_with_words(tmp_path):
    played = desk(tmp_path)
    async with played.open() as moot:
        hub = Hub(moot)
        looking = asyncio.create_task(take(hub, 1))
        await until(lambda: hub._seats)
        await played.journal.close()
        with pytest.raises(OperationFailed, match="the journal is closed"):
            await looking


async def test_a_step_is_no_filter_of_a_live_stream(tmp_path):
    async with desk(tmp_path).open() as moot:
        with pytest.raises(WrongUse, match="follow its run"):
            await take(Hub(moot), 1, Filter(step="s1"))


async def test_who_is_slow_to_listen_misses_pieces_and_holds_nobody_up():
    tokens = TokenStream()
    async with asyncio.timeout(PATIENCE), aclosing(tokens.listen()) as pieces:
        first = asyncio.create_task(anext(pieces))
        await asyncio.sleep(0)
        for number in range(WAITING + 50):
            tokens.hear("run-1", "0", str(number))
        heard = [await first, *[await anext(pieces) for _ in range(WAITING - 1)]]
        tokens.hear("run-1", "0", "the end")
        last = await anext(pieces)

    assert [delta.text for delta in heard] == [str(number) for number in range(WAITING)]
    assert last == Delta("run-1", "0", "the end")


async def test_a_journal_that_fails_ends_streams_and_sockets_and_the_log_says_why(tmp_path, caplog):
    played = desk(tmp_path)
    async with (
        played.open() as moot,
        visited(moot) as visitor,
        visitor.stream("/api/stream") as stream,
        visitor.socket() as socket,
    ):
        await socket.next()
        await until(lambda: len(visitor.house.hub._seats) == 2)
        await played.journal.close()
        assert await stream.rest() == []
        closed = await socket.socket.receive(PATIENCE)

    assert (closed.data, closed.extra) == (1013, "the journal is closed")
    assert "a stream broke off: /api/stream" in caplog.text
