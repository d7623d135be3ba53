"""The list of runs and the inbox: what they say, and that a look costs what is new and not what there ever was."""

from contextlib import suppress
from functools import partial

import pytest
from msgspec.structs import replace

from folkmoot import ScriptedModel, tool
from folkmoot.engine.listing import RunIndex, run_list, run_row
from folkmoot.errors import NotFound
from folkmoot.journal.memory import MemoryJournal
from folkmoot.ports import Query, Version

PAY = {"calls": [{"tool": "pay"}]}
ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]}


class Counting(MemoryJournal):
    """How many entries were read."""

    def __init__(self, monotonic):
        super().__init__(monotonic)
        self.entries_read = 0
        self.breaks_after = 0
        """Entries; 0: never."""

    def _count(self):
        self.entries_read += 1
        if self.breaks_after and not (left := self.breaks_after - 1):
            raise RuntimeError("broken off")
        self.breaks_after = left if self.breaks_after else 0

    async def stored(self, query):
        async for stored in super().stored(query):
            self._count()
            yield stored

    async def read(self, query):
        async for entry in super().read(query):
            self._count()
            yield entry


@tool(effect="pure", access="write", asks="medium")
async def pay() -> str:
    """Pay."""
    return "paid"


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


async def test_an_index_that_goes_on_says_what_one_that_is_made_anew_says(shop):
    """K-9, K-10: after every single entry, whatever was looked at before."""
    async with shop.open() as moot:
        await lived_in(shop, moot, range(12))
    drafts = [entry async for entry in shop.journal.read(Query())]
    copy, seen = MemoryJournal(shop.clock.monotonic), {}
    index = RunIndex(copy)
    for entry in drafts:
        stream = entry.stream
        expected = Version(seen.get(stream, 0)) if stream in seen else Version(0)
        await copy.append(stream, expected, [entry.draft])
        seen[stream] = seen.get(stream, 0) + 1
        assert await index.runs() == await run_list(copy)
        assert await index.inbox() == await RunIndex(copy).inbox()
        assert await run_row(copy, stream) == next(
            (row for row in await index.runs() if row.run_id == stream), None
        )


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


async def test_a_look_that_is_broken_off_loses_nothing(shop):
    """A request over HTTP may end at any moment; what had changed is still told to the next one."""
    async with shop.open() as moot:
        await moot.run("payer", "hi")
        await moot.inbox()
        shop.identity = replace(shop.identity, run="run-2")
        await moot.run("asker", "hi")
        for moment in range(1, 8):
            shop.journal.breaks_after = moment
            with suppress(RuntimeError):
                await moot.inbox()
        shop.journal.breaks_after = 0

        assert [item.run for item in await moot.inbox()] == ["run-1", "run-2"]
