"""Stores records that outlive a run, and says who changes one (`Author`). Each is a stream of the journal; what it is
now is a fold over its events.

A change is decided on what was read and appended on condition that nothing came in between; otherwise it is decided
again. So no update is lost, there are no locks, and whoever is killed blocks nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from hashlib import sha256
from typing import Generic, TypeVar

from msgspec.structs import replace

from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.naming import LAST
from folkmoot.domain.records import Kind, RecordSources
from folkmoot.domain.sources import Sources, joined
from folkmoot.domain.value import Value
from folkmoot.errors import Conflict, JournalDamaged
from folkmoot.ports import Clock, Journal, Query, RecordQuery, Site, Version

R = TypeVar("R")
_READ_APART = 200
"""Records that are read one by one; of more, their whole kind is read at once."""
TRIES = 1_000
"""Of a change that others come before; each time somebody else got on."""


Decide = Callable[[R | None], Sequence[Event]]
"""What a change comes to, given the record as it is, or None. Raises `WrongUse` to refuse; no events: nothing to do."""


Look = Callable[[], Awaitable[None]]


class RecordStore(Generic[R]):
    """All records of one kind; the services of tasks, plans and so on add what may be done to them."""

    def __init__(self, kind: Kind[R], journal: Journal, clock: Clock) -> None:
        self._kind = kind
        self._table = kind.prefix.removesuffix("_")
        self._journal = journal
        self._clock = clock
        self._known: dict[str, R] = {}
        self._versions: dict[str, int] = {}
        """How many entries each of `_known` had when it was read."""
        self._made: dict[tuple[str, str], str] = {}
        self.seen = 0
        """Up to where the journal was read by `select`."""

    async def get(self, id: str) -> R:
        """Raises `WrongUse` if there is none of this name."""
        record = await self.look_up(id)
        if record is None:
            raise self._kind.missing(id)
        return record

    async def look_up(self, id: str) -> R | None:
        return self._folded(await self._entries(id))[0]

    async def find(self, name: str) -> str:
        """The id of a record that is named by it, by the beginning of one that fits no other, or as `last`."""
        if await self._entries(name):
            return name
        prefix = self._kind.prefix
        fitting = RecordQuery(prefix=prefix + name.removeprefix(prefix))
        if name == LAST:
            fitting = RecordQuery(self._table, last=True)
        return self._kind.resolve([row.id for row in await self._journal.records(fitting)], name)

    async def all(self) -> dict[str, R]:
        """Every record by its name, in the order in which they were created."""
        return await self.select(RecordQuery())

    async def select(self, query: RecordQuery) -> dict[str, R]:
        """The records that fit, in the order in which they were created; only what is new of them is read."""
        rows = await self._journal.records(replace(query, kind=self._table))
        new = {row.id: row for row in rows if row.version > self._versions.get(row.id, 0)}
        streams: dict[str, list[Entry]] = {id: [] for id in new}
        if len(new) > _READ_APART:
            start = min(row.began for row in new.values()) - 1
            async for entry in self._journal.read(Query(prefix=self._kind.prefix, after=start)):
                if entry.stream in streams:
                    streams[entry.stream].append(entry)
        else:
            streams = {id: await self._entries(id) for id in new}
        for id, entries in streams.items():
            record, version = self._folded(entries)
            if record is not None and version > self._versions.get(id, 0):  # or another call came first
                self._versions[id], self._known[id] = version, record
            for entry in entries:
                self._made[entry.draft.session_id, entry.draft.span] = id
                self.seen = max(self.seen, entry.seq)
        return {row.id: self._known[row.id] for row in rows if row.id in self._known}

    def made(self, author: Author) -> str:
        """The record that this very call changed before its process died, as of the last `select`; empty if none."""
        return self._made.get((author.session, author.span), "") if author.is_agent else ""

    async def readable(self) -> tuple[dict[str, R], dict[str, str]]:
        """As `all`; a damaged record does not hide the others, but is named with what is wrong with it."""
        try:
            return await self.all(), {}
        except JournalDamaged:
            rows = await self._journal.records(RecordQuery(self._table))
        records: dict[str, R] = {}
        damaged: dict[str, str] = {}
        for row in rows:
            try:
                records[row.id] = await self.get(row.id)
            except JournalDamaged as error:
                damaged[row.id] = str(error)
        return records, damaged

    async def sources(self, ids: Collection[str]) -> Sources:
        """What those have read who wrote these records."""
        wanted = Query(prefix=self._kind.prefix, types=(RecordSources.type,))
        if len(ids) == 1:
            wanted = Query(stream=next(iter(ids)), types=(RecordSources.type,))
        return _sources([entry async for entry in self._journal.read(wanted) if entry.stream in ids])

    def work_session_of(self, record: R) -> str:
        """Where what happens to a record belongs; empty: where its author is."""
        return ""

    async def update(
        self, id: str, author: Author, decide: Callable[[R], Sequence[Event]], work_session: str = ""
    ) -> R:
        """Change a record that exists. Raises `NotFound` for another; see `write`."""

        def decided(record: R | None) -> Sequence[Event]:
            if record is None:
                raise self._kind.missing(id)
            return decide(record)

        return await self.write(id, author, decided, work_session)

    async def write(
        self, id: str, author: Author, decide: Decide[R], work_session: str = "", look: Look | None = None
    ) -> R:
        """Decide on the record as it is and write what comes of it, as one step; the record after it. It belongs to the
        `work_session`, otherwise to that of the record or of the author.

        `look` reads what else the decision depends on. It comes after the record was read, so that whoever records
        what he does in the same record is either seen by it, or in the way of what is written.
        """
        for _ in range(TRIES):
            entries = await self._entries(id)
            record, version = self._folded(entries)
            if record is not None and _has_done(author, entries):
                return record
            if look:
                await look()
            events = decide(record)
            if events and not {*author.sources} <= {*_sources(entries)}:
                events = (*events, RecordSources(author.sources))
            place = work_session or (self.work_session_of(record) if record is not None else "")
            drafts = [self._draft(author, event, place) for event in events]
            if drafts:
                try:
                    await self._journal.append(id, Version(version), drafts)
                except Conflict:
                    continue
            for draft in drafts:
                if not isinstance(draft.event, RecordSources):
                    record = self._kind.evolve(record, draft)
            if record is None:
                raise self._kind.missing(id)
            return record
        raise Conflict(f"{self._kind.name} {id!r} is changed by others all the time; try again later")

    async def _entries(self, id: str) -> list[Entry]:
        if not id.startswith(self._kind.prefix):
            return []
        return [entry async for entry in self._journal.read(Query(stream=id))]

    def _folded(self, entries: Sequence[Entry]) -> tuple[R | None, int]:
        record: R | None = None
        for entry in entries:
            if not isinstance(entry.event, RecordSources):
                record = self._evolved(record, entry)
        return record, entries[-1].run_seq if entries else 0

    def _evolved(self, record: R | None, entry: Entry) -> R:
        """What no service can have written is damage, like any other."""
        try:
            return self._kind.evolve(record, entry.draft)
        except ValueError as error:
            place = f"entry {entry.seq} of the journal, {entry.run_seq} of stream {entry.stream!r}"
            raise JournalDamaged(f"{place}: {error}") from error

    def _draft(self, author: Author, event: Event, work_session: str) -> Draft:
        return Draft(
            self._clock.now(),
            event,
            session_id=author.session,
            span=author.span,
            agent_id=author.name,
            work_session_id=work_session or author.work_session,
        )


def _sources(entries: Iterable[Entry]) -> Sources:
    return joined(*(entry.event.sources for entry in entries if isinstance(entry.event, RecordSources)))


def _has_done(author: Author, entries: Sequence[Entry]) -> bool:
    """Whether this very call has changed the record before its process died."""
    made = (author.session, author.span)
    return author.is_agent and any(made == (entry.draft.session_id, entry.draft.span) for entry in entries)


PERSON = "user"
RUNTIME = "folkmoot"


class Author(Value):
    name: str = PERSON
    """An agent's id, the name of a person, or `RUNTIME`."""
    session: str = ""
    span: str = ""
    """The call; empty for people. After a crash it is made again, and must not count twice."""
    work_session: str = ""
    sources: Sources = ()
    """What the author had read."""

    @property
    def is_agent(self) -> bool:
        return bool(self.span)

    def new_id(self, prefix: str, chance: str) -> str:
        """For what this author creates: by the name of the call, so that one made again finds what it created.

        Whoever makes no call brings a `chance`, drawn by the caller.
        """
        cause = f"{self.session} {self.span}" if self.span else chance
        return f"{prefix}{sha256(cause.encode()).hexdigest()[:20]}"


def calling(site: Site) -> Author:
    """The agent that made a call."""
    return Author(site.agent, site.session, site.below, site.work_session, site.sources)
