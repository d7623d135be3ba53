"""The simulated scheduler that the races of the watch are looked for with."""

import asyncio
import time
from contextlib import suppress

import pytest

from folkmoot.coordination.record_store import Author, Decide, RecordStore
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SystemError
from folkmoot.domain.records import Kind
from folkmoot.errors import Conflict
from folkmoot.ports import Query, Version
from tests.simulation import Deadlock, World, found_by, simulate


async def five_walkers(world: World) -> str:
    steps: list[str] = []

    async def walk(name: str) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            steps.append(name)

    await asyncio.gather(*map(walk, "abcde"))
    return "".join(steps)


def test_the_same_seed_gives_the_same_order():
    assert [simulate(7, five_walkers) for _ in range(5)] == [simulate(7, five_walkers)] * 5


def test_other_seeds_give_other_orders():
    assert len({simulate(seed, five_walkers) for seed in range(50)}) > 40


def test_a_virtual_year_passes_at_once_and_in_order():
    async def year(world: World) -> list[str]:
        woken: list[str] = []

        async def sleep(days: int) -> None:
            await world.clock.sleep(days * 86_400)
            woken.append(world.clock.now()[:10])

        await asyncio.gather(sleep(364), sleep(1), sleep(31))
        return woken

    began = time.process_time()
    assert simulate(1, year) == ["2026-01-02", "2026-02-01", "2026-12-31"]
    assert time.process_time() - began < 10


def test_time_limits_hold_in_virtual_time():
    async def late(world: World) -> float:
        with pytest.raises(TimeoutError):
            await world.clock.within(5, world.clock.sleep(3_600))
        return world.clock.monotonic()

    assert simulate(1, late) == 5


def test_the_wall_clock_can_be_set_and_the_monotonic_one_cannot():
    async def jump(world: World) -> tuple[str, float]:
        world.clock.jump(-86_400)
        return world.clock.now(), world.clock.monotonic()

    assert simulate(1, jump) == ("2025-12-31T00:00:00.000Z", 0.0)


def test_waiting_for_what_never_comes_is_an_error_and_no_hang():
    async def wait(world: World) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock):
        simulate(1, wait)


def test_an_exception_comes_out_and_nothing_stays_behind():
    async def fail(world: World) -> None:
        asyncio.get_running_loop().create_task(world.clock.sleep(9), name="stays behind")
        raise ValueError("as planned")

    with pytest.raises(ValueError, match="as planned"):
        simulate(1, fail)


COUNT: Kind[int] = Kind("count", "count_", "", lambda count, draft: int(draft.event.error))


class Careless(RecordStore[int]):
    """Writes whatever others wrote meanwhile."""

    async def write(self, id: str, author: Author, decide: Decide[int], work_session: str = "") -> int:
        count = (await self.all()).get(id)
        for event in decide(count):
            newest = Version(len([entry async for entry in self._journal.read(Query(stream=id))]))
            with suppress(Conflict):
                await self._journal.append(id, newest, [Draft(self._clock.now(), event)])
        return await self.get(id)


def test_a_lost_update_is_found_and_the_expected_version_prevents_it():
    """O-40. What the race tests rely on: reading and writing take time in which others get their turn."""

    async def lost(world: World, kind: type[RecordStore[int]]) -> bool:
        keepers = [kind(COUNT, world.journal, world.clock) for _ in range(3)]
        await asyncio.gather(
            *(
                keeper.write("count_1", Author(), lambda n: [SystemError(error=str((n or 0) + 1))])
                for keeper in keepers
            )
        )
        return await keepers[0].get("count_1") != 3

    assert len(found_by(range(100), lambda world: lost(world, Careless))) > 50
    assert found_by(range(100), lambda world: lost(world, RecordStore)) == []
