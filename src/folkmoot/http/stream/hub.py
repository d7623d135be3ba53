"""One reader of the journal for all who look on: each entry is read once and given to everybody whom it concerns.

Who comes, or comes back, first reads from the journal what it has not seen, up to where the hub is; then it takes a
seat and is told the rest. Between its last look and taking the seat nothing is awaited, so there is no gap and no
double. A seat has room for so many entries: who is slower loses it, and reads from the journal until it has caught up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatchcase

import msgspec
from msgspec.structs import replace

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Draft, Entry, role
from folkmoot.errors import FolkmootError, OperationFailed, WrongUse
from folkmoot.ports import Filter

ROOM = 1_000
"""Entries that wait for one who looks on."""
PAGE = 500
"""Entries that are looked up at a time."""
DELTA = "delta"
"""What a piece of an answer goes by among the types of events. It is none: it is never recorded."""


class Hub:
    """The live side of an open project. It reads while somebody looks on."""

    def __init__(self, moot: Folkmoot) -> None:
        self.moot = moot
        self.journal = moot.moot.journal
        self.clock = moot.moot.clock
        self._at = 0
        """The last entry that everybody with a seat was told."""
        self._seats: set[_Subscriber] = set()
        self._guests = 0
        self._reading: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._failure: FolkmootError = OperationFailed("nobody reads the journal", code="journal_unusable")

    @property
    def is_watched(self) -> bool:
        return self._guests > 0

    async def subscribe(self, wanted: Filter = Filter(), after: int | None = None) -> AsyncIterator[Entry]:
        """What fits, in order and without end: all after an entry, or, with None, what is to come.

        `before`, `limit` and the order of the filter mean nothing here.
        """
        if wanted.step:
            raise WrongUse("a live stream cannot be narrowed to a step; follow its run")
        async with self._followed():
            at = self._at if after is None else after
            while True:
                while at < self._at:
                    until = self._at
                    async for entry in self._missed(wanted, at, until):
                        yield entry
                    at = until
                seat = self._take_seat(wanted, at)
                try:
                    while told := await seat.next():
                        yield told
                        at = told.seq
                finally:
                    self._seats.discard(seat)

    async def batches(
        self, wanted: Filter = Filter(), after: int | None = None, *, pause: float, beat: float | None = None
    ) -> AsyncIterator[list[Entry]]:
        """As `subscribe`, but what comes within `pause` seconds comes together; empty if for `beat` seconds nothing
        came."""
        came, waiting = asyncio.Event(), list[Entry]()

        async def collect() -> None:
            async for entry in self.subscribe(wanted, after):
                waiting.append(entry)
                came.set()

        collecting = asyncio.create_task(collect())
        collecting.add_done_callback(lambda _: came.set())
        try:
            while not collecting.done():
                with suppress(TimeoutError):
                    await asyncio.wait_for(came.wait(), beat)
                came.clear()
                if waiting or not collecting.done():
                    batch, waiting[:] = [*waiting], []
                    yield batch
                    await asyncio.sleep(pause)
            collecting.result()
        finally:
            collecting.cancel()

    async def _missed(self, wanted: Filter, after: int, until: int) -> AsyncIterator[Entry]:
        if is_narrow(wanted) and not wanted.run:
            entries = self._looked_up(wanted, after)
        else:
            entries = self.moot.events(wanted.run, after=after)
        async for entry in entries:
            if entry.seq > until:
                return
            if is_match(wanted, entry):
                yield entry

    async def _looked_up(self, wanted: Filter, after: int) -> AsyncIterator[Entry]:
        while True:
            page = replace(wanted, after=after, before=0, oldest_first=True, limit=PAGE)
            found = await self.moot.find(page)
            for entry in found:
                yield entry
            if len(found) < PAGE:
                return
            after = found[-1].seq

    @asynccontextmanager
    async def _followed(self) -> AsyncIterator[None]:
        """While the journal is read; the last who leaves ends that."""
        self._guests += 1
        try:
            if self._reading is None or self._reading.done():
                self._begun = asyncio.Event()  # a new one: who read before may not have ended yet
                self._reading = asyncio.create_task(self._read(self._begun))
            await self._begun.wait()
            yield
        finally:
            self._guests -= 1
            if self._reading and not self.is_watched:
                self._reading.cancel()
                self._reading = None

    async def _read(self, begun: asyncio.Event) -> None:
        self._failure = OperationFailed("the journal is closed", code="journal_unusable")
        try:
            self._at = await self.moot.position()
            begun.set()
            async for entry in self.moot.events(follow=True, after=self._at):
                self._at = entry.seq
                for seat in self._seats:
                    seat.tell(entry)
        except FolkmootError as error:
            self._failure = error
        finally:
            begun.set()
            if self._reading is asyncio.current_task():
                for seat in self._seats:
                    seat.lose()

    def _take_seat(self, wanted: Filter, after: int) -> _Subscriber:
        if self._reading is None or self._reading.done():
            raise self._failure
        seat = _Subscriber(wanted, after)
        self._seats.add(seat)
        return seat


class _Subscriber:
    def __init__(self, wanted: Filter, after: int) -> None:
        self._wanted = wanted
        self._after = after
        self._waiting: asyncio.Queue[Entry | None] = asyncio.Queue()
        self._lost = False

    def tell(self, entry: Entry) -> None:
        if self._lost or entry.seq <= self._after or not is_match(self._wanted, entry):
            return
        if self._waiting.qsize() == ROOM:
            self.lose()
        else:
            self._waiting.put_nowait(entry)

    def lose(self) -> None:
        self._lost = True
        self._waiting.put_nowait(None)

    async def next(self) -> Entry | None:
        """None, after all that waits here, once the seat is lost."""
        return await self._waiting.get()


def build_filter(query: msgspec.Struct) -> Filter:
    """The fields of a client's query that a filter has too."""
    given = {name: getattr(query, name, None) for name in Filter.__struct_fields__}
    return Filter(**{name: value for name, value in given.items() if value})


def is_match(wanted: Filter, entry: Entry) -> bool:
    """By run, work session, session, agent, role, type and time; not by step, which only the index knows."""
    return _is_match(wanted, entry.stream, entry.draft, entry.event.type)


def is_delta_match(wanted: Filter, run: str, began: Draft) -> bool:
    """For a piece of what is said in the session that began with this."""
    return _is_match(wanted, run, began, DELTA)


def wants_deltas(wanted: Filter) -> bool:
    """Only who looks at one run, session or agent: the talk of all at once is of no use to anybody."""
    close_by = bool(wanted.run or wanted.session or wanted.agent)
    return close_by and _is_any_of(DELTA, wanted.types)


def is_narrow(wanted: Filter) -> bool:
    """Whether what fits is better looked up than sorted out."""
    return bool(wanted.work_session or wanted.session or wanted.agent or wanted.role or wanted.types)


def _is_match(wanted: Filter, stream: str, draft: Draft, type: str) -> bool:
    return (
        wanted.run in ("", stream)
        and wanted.work_session in ("", draft.work_session_id)
        and wanted.session in ("", draft.session_id)
        and wanted.agent in ("", draft.agent_id)
        and _is_any_of(type, wanted.types)
        and (not wanted.role or wanted.role == role(draft))
        and wanted.since <= draft.ts
        and not (wanted.until and draft.ts >= wanted.until)
    )


def _is_any_of(type: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(type, pattern) for pattern in patterns)
