"""Records that outlive a run: no update is lost, and no call counts twice."""

import asyncio

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.record_store import Author, RecordStore, calling
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SystemError
from folkmoot.domain.records import Kind
from folkmoot.errors import JournalDamaged, WrongUse
from folkmoot.ports import Query, Site

COUNT: Kind[int] = Kind("count", "count_", "", lambda count, draft: (count or 0) + 1)


def one_more(_: int | None) -> list[SystemError]:
    return [SystemError(error="one more")]


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


def keeper(journal: MemoryJournal) -> RecordStore[int]:
    return RecordStore(COUNT, journal, FakeClock())


async def test_changes_at_once_by_several_writers_are_all_kept(journal):
    """O-40: a conflict is retried, no update is lost."""
    writers = [keeper(journal) for _ in range(10)]

    await asyncio.gather(*(one.write("count_1", Author(), one_more) for one in writers for _ in range(20)))

    assert await keeper(journal).get("count_1") == 200


async def test_a_call_that_is_made_again_after_a_crash_counts_once(journal):
    """C3: a `keyed` call is repeated only with the same key, and known by it."""
    site = Site("run-1", "run-1", "0", 2, 1, agent="coder")
    kept = keeper(journal)

    await kept.write("count_1", calling(site), one_more)
    await kept.write("count_1", calling(site), one_more)
    await kept.write("count_1", calling(Site("run-1", "run-1", "0", 3, 1, agent="coder")), one_more)

    assert await kept.get("count_1") == 2


async def test_all_records_of_a_kind_are_found_and_no_others(journal):
    kept = keeper(journal)
    await kept.write("count_1", Author(), one_more)
    await RecordStore(Kind("other", "other_", "", COUNT.evolve), journal, FakeClock()).write(
        "other_1", Author(), one_more
    )
    first = await kept.all()
    await kept.write("count_2", Author(), one_more)
    await kept.write("count_1", Author(), one_more)

    assert first == {"count_1": 1}
    assert await kept.all() == {"count_1": 2, "count_2": 1}


class Slow(MemoryJournal):
    """Others get on between any two entries that it reads."""

    async def read(self, query):
        async for entry in super().read(query):
            await asyncio.sleep(0)
            yield entry


async def test_calls_that_read_at_the_same_time_fold_every_entry_once():
    """Two tools of one answer run at once, at one desk."""
    journal = Slow()
    kept = keeper(journal)
    for _ in range(5):
        await kept.write("count_1", Author(), one_more)

    assert await asyncio.gather(kept.all(), kept.all()) == [{"count_1": 5}] * 2


class Narrow(MemoryJournal):
    """Knows which streams were read; empty: all of a kind."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def read(self, query):
        self.asked.append(query.stream)
        return super().read(query)


async def test_a_record_is_found_by_id_beginning_or_as_the_last_without_reading_the_others():
    journal = Narrow()
    kept = keeper(journal)
    for name in ("count_ab", "count_ac", "count_b"):
        await kept.write(name, Author(), one_more)
    journal.asked.clear()

    found = [await kept.find(name) for name in ("count_ab", "b", "count_ac", "last")]

    assert found == ["count_ab", "count_b", "count_ac", "count_b"]
    assert {*journal.asked} == {"count_ab", "count_ac"}
    with pytest.raises(WrongUse, match="2 counts begin with 'a': count_ab, count_ac"):
        await kept.find("a")


async def test_only_what_changed_since_is_read_again_and_many_records_are_read_at_once():
    journal = Narrow()
    kept = keeper(journal)
    for number in range(250):
        await kept.write(f"count_{number:03}", Author(), one_more)
    journal.asked.clear()
    every = await kept.all()
    await keeper(journal).write("count_007", Author(), one_more)
    read = [*journal.asked]
    journal.asked.clear()

    assert every == {f"count_{number:03}": 1 for number in range(250)}
    assert read == ["", "count_007"]
    assert await kept.all() == {**every, "count_007": 2}
    assert journal.asked == ["count_007"]


async def test_a_record_that_does_not_exist_is_named(journal):
    with pytest.raises(WrongUse, match="there is no count 'count_9'"):
        await keeper(journal).get("count_9")


async def test_a_refused_change_leaves_nothing(journal):
    def refuse(_: int | None) -> list[SystemError]:
        raise WrongUse("no")

    with pytest.raises(WrongUse):
        await keeper(journal).write("count_1", Author(), refuse)

    assert await keeper(journal).all() == {}


async def test_an_entry_says_who_changed_the_record_and_for_which_work_session(journal):
    author = Author("coder", "run-1", "0/turn:1/call:1", "ws_1")

    await keeper(journal).write("count_1", author, one_more)

    assert await _only(journal) == ("coder", "run-1", "0/turn:1/call:1", "ws_1")


async def _only(journal: MemoryJournal) -> tuple[str, str, str, str]:
    (draft,) = [entry.draft async for entry in journal.read(Query())]
    assert isinstance(draft, Draft)
    return draft.agent_id, draft.session_id, draft.span, draft.work_session_id


async def test_a_record_that_no_desk_can_have_written_is_damage_and_names_its_place(journal):
    """C2: damage is reported, never skipped."""

    def evolve(count: int | None, draft: Draft) -> int:
        raise ValueError("a count begins with one")

    broken = RecordStore(Kind("count", "count_", "", evolve), journal, FakeClock())
    await keeper(journal).write("count_1", Author(), one_more)

    with pytest.raises(JournalDamaged, match="1 of stream 'count_1': a count begins with one"):
        await broken.all()
