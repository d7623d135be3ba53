"""The runs of a journal and what waits in them for people, with whoever holds them now.

Whoever stays asks one `RunIndex` again and again: it goes on from where it was read last, so that a look costs what is
new and not what there ever was.
"""

from __future__ import annotations

import asyncio

from folkmoot.domain.item import Item
from folkmoot.engine.inbox import ASKING, CHANGING, items_of, with_replies
from folkmoot.engine.owner import is_gone
from folkmoot.ports import Journal, Query
from folkmoot.views.runs import LISTED, RunRow, advance, is_open, newest_first, with_holder


class RunIndex:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._reading = asyncio.Lock()
        self._rows: dict[str, RunRow] = {}
        self._sorted: list[RunRow] = []
        self._listed = 0
        """Up to where the journal was read for the rows, and below for the items."""
        self._items: dict[str, dict[str, Item]] = {}
        """By run, in the order in which they first asked."""
        self._changed: dict[str, None] = {}
        """Runs whose items are to be read again: also after a look that was broken off."""
        self._noticed = 0

    async def runs(self) -> list[RunRow]:
        """Newest first."""
        async with self._reading:
            last = await last_position(self._journal)
            async for entry in self._journal.read(Query(types=LISTED, after=self._listed)):
                advance(self._rows, entry)
                self._listed, self._sorted = entry.seq, []
            self._listed = max(self._listed, last)
            self._sorted = self._sorted or newest_first(self._rows.values())
        return await _held(self._journal, self._sorted)

    async def inbox(self) -> list[Item]:
        """Every item of all runs; an answer that nobody took in yet counts."""
        async with self._reading:
            await self._notice()
            for run in [*self._changed]:
                self._items[run] = await items_of(self._journal, run)
                del self._changed[run]
        found = {id: item for items in self._items.values() for id, item in items.items()}
        return await with_replies(self._journal, found)

    async def _notice(self) -> None:
        """In which runs something changed for people, or may have, since their items were read."""
        last = await last_position(self._journal)
        types = CHANGING if self._items else ASKING
        async for stored in self._journal.stored(Query(types=types, after=self._noticed)):
            if stored.type in ASKING or stored.stream in self._items:
                self._changed[stored.stream] = None
            self._noticed = stored.seq
        self._noticed = max(self._noticed, last)


async def run_list(journal: Journal) -> list[RunRow]:
    """For whoever looks once."""
    return await RunIndex(journal).runs()


async def last_position(journal: Journal) -> int:
    """Where the journal ends now."""
    newest = [stored.seq async for stored in journal.stored(Query(newest_first=True, limit=1))]
    return newest[0] if newest else 0


async def run_row(journal: Journal, run: str) -> RunRow | None:
    """One run by its name; None for whatever else has this name."""
    rows: dict[str, RunRow] = {}
    async for entry in journal.read(Query(stream=run, types=LISTED)):
        advance(rows, entry)
    return next(iter(await _held(journal, [*rows.values()])), None)


async def _held(journal: Journal, rows: list[RunRow]) -> list[RunRow]:
    """With who holds them now; what has ended is held by nobody."""
    open = [row.run_id for row in rows if is_open(row)]
    if not open:
        return [*rows]
    claims = await journal.claims(open[0] if len(open) == 1 else "")
    live = (claim for claim in claims if not claim.owner or (claim.live and not is_gone(claim.owner)))
    held = {claim.run: "running" if claim.owner else "queued" for claim in live}
    return [with_holder(row, held.get(row.run_id, "")) if is_open(row) else row for row in rows]
