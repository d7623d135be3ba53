"""The list of runs and the inbox: what they say, and that a look costs what is new and not what there ever was."""

from functools import partial

import pytest
from msgspec.structs import replace

from folkmoot import ScriptedModel
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunStarted
from folkmoot.engine.commands import read_inbox
from folkmoot.engine.runs import find_run, find_run_row, list_runs
from folkmoot.errors import NotFound, WrongUse
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import Query, Version
from tests.fakes import fake

PAY = {"calls": [{"tool": "pay"}]}
ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]}


class Counting(MemoryJournal):
    """How many entries were read."""

    def __init__(self, monotonic):
        super().__init__(monotonic)
        self.entries_read = 0

    def _count(self):
        self.entries_read += 1

    async def stored(self, query):
        async for stored in super().stored(query):
            self._count()
            yield stored

    async def read(self, query):
        async for entry in super().read(query):
            self._count()
            yield entry


pay = fake("pay", "paid", access="write", asks="medium")


@pytest.fixture
def shop(desk):
    at = desk(
        {"payer": "tools: [pay]", "asker": "tools: [ask_user]", "clerk": ""},
        {"payer": [PAY, "done"], "asker": [ASK, "done"], "clerk": ["hello"]},
        tools=[pay],
    )
    at.journal = Counting(at.clock.monotonic)
    return at


async def lived_in(shop, moot, numbers):
    """Runs that ended, waited and went on, were denied, and still wait."""
    for n in numbers:
        shop.identity = replace(shop.identity, run=f"run-{n}")
        result = await moot.run(("payer", "asker", "clerk")[n % 3], "hi")
        if n % 4 == 0 and result.inbox:
            (item,) = result.inbox
            reply = item.approve("ann") if item.kind == "approval" else item.answer("that one")
            await moot.reply(reply)
            await moot.resume(result.run_id)


async def test_rows_that_follow_each_entry_are_those_that_are_made_anew(shop):
    """K-9, K-10: after every single entry, whatever was looked at before."""
    async with shop.open() as moot:
        await lived_in(shop, moot, range(12))
    drafts = [entry async for entry in shop.journal.read(Query())]
    copy, seen = MemoryJournal(shop.clock.monotonic), {}
    for entry in drafts:
        stream = entry.stream
        await copy.append(stream, Version(seen.get(stream, 0)), [entry.draft])
        seen[stream] = seen.get(stream, 0) + 1
        runs, items = await list_runs(copy), await read_inbox(copy)
        assert await find_run_row(copy, stream) == next((row for row in runs if row.run_id == stream), None)

        await copy.rebuild()

        assert (await list_runs(copy), await read_inbox(copy)) == (runs, items)


async def test_a_look_costs_what_is_new(shop):
    """K-9, K-10: one run, one item and the whole list cost the same after 132 runs as after 12."""

    async def costs():
        (*_, waiting) = [item for item in await moot.inbox() if item.is_open]
        await moot.runs()
        looks = (
            moot.runs,
            moot.inbox,
            partial(moot.row, waiting.run),
            partial(moot.result, waiting.run),
            partial(moot.item, waiting.id),
        )
        found = []
        for look in looks:
            before = shop.journal.entries_read
            await look()
            found.append(shop.journal.entries_read - before)
        return found

    async with shop.open() as moot:
        await lived_in(shop, moot, range(12))
        first = await costs()
        await lived_in(shop, moot, range(12, 132))

        assert await costs() == first


async def test_an_id_that_another_agent_wrote_hides_nothing(shop):
    """K-10: a later question that names an approval does not keep anybody from giving it."""
    async with shop.open() as moot:
        (item,) = (await moot.run("payer", "hi")).inbox
        shop.identity = replace(shop.identity, run="run-2")
        shop.model._script = ScriptedModel(
            {"asker": [{"calls": [{"tool": "ask_user", "arguments": {"question": f"Is {item.id} done?"}}]}]}
        )._script
        await moot.run("asker", "hi")

        assert await moot.item(item.id) == item
        with pytest.raises(NotFound):
            await moot.item("")


@pytest.fixture
async def three(shop):
    for number, run in enumerate(("20260101-11", "20260101-1", "20260102-1")):
        draft = Draft(f"2026-01-01T00:00:0{number}.000Z", RunStarted("a.ai", "hi", "graph", "seed"))
        await shop.journal.append(run, Version(0), [draft])
    return shop.journal


@pytest.mark.parametrize(
    ("name", "meant"), [("last", "20260102-1"), ("20260102", "20260102-1"), ("20260101-1", "20260101-1")]
)
async def test_a_run_is_found_by_its_id_by_a_beginning_or_as_the_last(three, name, meant):
    assert (await find_run(three, name)).run_id == meant


@pytest.mark.parametrize(
    ("name", "why"), [("2027", "no run"), ("", "no run"), ("20260101", "2 runs begin with")]
)
async def test_a_name_of_no_run_or_of_several_is_wrong_use(three, name, why):
    with pytest.raises(WrongUse, match=why):
        await find_run(three, name)
