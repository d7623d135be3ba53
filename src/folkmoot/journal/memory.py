"""The journal in memory: the reference that every other journal behaves like. For tests; nothing outlives
it."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.catalogue import MENTIONED
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.inbox import Item
from folkmoot.domain.read_model import RecordRow
from folkmoot.domain.run_row import RunSummary, SpendSum
from folkmoot.errors import Conflict, FolkmootError, Held, NotFound, OperationFailed
from folkmoot.journal.chain import check_stream
from folkmoot.journal.codec import ORIGIN, encode, hash_of, seal, to_entry, written_type
from folkmoot.journal.expectation import check
from folkmoot.journal.news import News
from folkmoot.journal.tables import Progress, Tables, memory_connection
from folkmoot.ports import (
    Claim,
    Epoch,
    ItemQuery,
    NewRun,
    Post,
    Query,
    RecordQuery,
    RunQuery,
    SpendQuery,
    Stored,
    Swept,
    Version,
)


class MemoryJournal:
    shared = False

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._entries: list[Entry] = []
        self._seq = 0
        self._streams: dict[str, _Stream] = {}
        self._contents: dict[str, bytes] = {}
        self._kept: dict[str, float] = {}
        self._posts: dict[int, Post] = {}
        self._posted = 0
        self._news = News()
        self._closed = False
        self._read_model: Tables | None = None
        self.progress: Progress = lambda done, count: None

    async def installation_secret(self) -> bytes:
        return b""

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        done: asyncio.Future[Sequence[Entry]] = asyncio.get_running_loop().create_future()
        try:
            done.set_result(self._append(stream, expected, drafts))
        except FolkmootError as error:
            done.set_exception(error)
        return done

    def _append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> Sequence[Entry]:
        self._open()
        bodies = [encode(stream, draft) for draft in drafts]
        known = self._streams.get(stream)
        check(stream, expected, known.epoch if known else 0, known.run_seq if known else None)
        if known is None:
            known = self._streams[stream] = _Stream()
        if isinstance(expected, NewRun):
            known.owner, known.epoch, known.until = expected.owner, 1, self._monotonic() + expected.lease

        entries: list[Entry] = []
        for draft, body in zip(drafts, bodies, strict=True):
            known.run_seq += 1
            text, id = seal(known.id, known.run_seq, body)
            self._seq += 1
            entries.append(Entry(self._seq, known.run_seq, id, known.id, stream, draft, text))
            known.id = id
        self._entries += entries
        self._news.tell()
        return entries

    def keep(self, content: bytes) -> str:
        self._open()
        id = hash_of(content)
        self._contents[id] = content
        self._kept[id] = self._monotonic()
        return id

    async def artifact(self, id: str) -> bytes:
        return self._contents[id]

    async def read(self, query: Query) -> AsyncIterator[Entry]:
        count = 0
        found = self._after(query.after)
        for entry in reversed(found) if query.newest_first else found:
            if query.stream not in ("", entry.stream) or not entry.stream.startswith(query.prefix):
                continue
            if query.seqs and entry.seq not in query.seqs:
                continue
            if query.types and entry.event.type not in query.types:
                continue
            yield entry
            count += 1
            if count == query.limit:
                return

    async def follow(self, after: int = 0) -> AsyncIterator[Entry]:
        while not self._closed:
            told = self._news.told
            for entry in self._after(after):
                yield entry
                after = entry.seq
            await self._news.wait(told)

    async def claim(self, run: str, owner: str, lease: float, after: str = "") -> Claim:
        self._open()
        stream = self._stream(run)
        if stream.owner not in (owner, after) and stream.until > self._monotonic():
            raise Held(run, stream.owner)
        stream.owner, stream.epoch, stream.until = owner, stream.epoch + 1, self._monotonic() + lease
        return Claim(run, owner, stream.epoch, live=True)

    async def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        self._open()
        return frozenset(claim.run for claim in claims if self._hold(claim, self._monotonic() + lease))

    async def release(self, claim: Claim, *, wake: bool = False) -> None:
        self._open()
        self._hold(claim, 0.0)

    async def claims(self, runs: Collection[str] | None = None) -> Sequence[Claim]:
        now = self._monotonic()
        return [
            Claim(name, stream.owner, stream.epoch, live=stream.until > now)
            for name, stream in self._streams.items()
            if stream.epoch and (runs is None or name in runs)
        ]

    async def runs(self, query: RunQuery) -> list[RunSummary]:
        return self._tables().runs(query)

    async def count_runs(self, query: RunQuery) -> int:
        return self._tables().count_runs(query)

    async def group_runs(self, query: RunQuery, by: Sequence[str]) -> list[tuple[Any, ...]]:
        return self._tables().group_runs(query, by)

    async def items(self, query: ItemQuery) -> list[Item]:
        return self._tables().items(query)

    async def records(self, query: RecordQuery) -> list[RecordRow]:
        return self._tables().records(query)

    async def spend(self, query: SpendQuery) -> list[SpendSum]:
        return self._tables().spend(query)

    async def rebuild(self) -> None:
        self._read_model = None

    def _tables(self) -> Tables:
        """Made when they are first read, as most journals in memory never are."""
        if self._read_model is None:
            connection = memory_connection()
            self._read_model = Tables(connection, self._past)
            self._read_model.create()
        if entries := self._after(self._read_model.position or 0):
            self._read_model.store(self._read_model.fold(entries), entries[-1].seq)
        return self._read_model

    def _past(self, stream: str, end: int) -> list[Entry]:
        return [entry for entry in self._entries if entry.stream == stream and entry.seq < end]

    async def post(self, run: str, kind: str, body: str = "", *, wake: bool = True) -> None:
        self._open()
        self._stream(run)
        self._posted += 1
        self._posts[self._posted] = Post(self._posted, run, kind, body)

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        wanted = set(runs)
        return [post for post in self._posts.values() if post.run in wanted]

    async def take(self, post: Post) -> None:
        self._open()
        self._posts.pop(post.id, None)

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        async for entry in self.read(query):
            yield Stored(
                entry.seq, entry.stream, entry.run_seq, written_type(entry.text), entry.id, entry.text
            )

    async def restore(self, stream: str, entries: Sequence[Stored]) -> None:
        self._open()
        check_stream(stream, entries)
        if stream in self._streams:
            raise Conflict(f"there is already a run {stream!r}")
        first = self._seq + 1
        self._entries += [replace(to_entry(each), seq=seq) for seq, each in enumerate(entries, start=first)]
        self._seq += len(entries)
        self._streams[stream] = _Stream(entries[-1].run_seq, entries[-1].id)
        self._news.tell()

    async def prune(self, run: str, expected: Version, tombstone: Draft) -> int:
        self._open()
        self._stream(run)
        kept = self._append(run, expected, [tombstone])[0]
        count = len(self._entries)
        self._entries = [entry for entry in self._entries if entry.stream != run or entry is kept]
        self._posts = {id: post for id, post in self._posts.items() if post.run != run}
        return count - len(self._entries)

    async def sweep(self, young: float) -> Swept:
        self._open()
        before = self._monotonic() - young
        ids = {id for id, kept in self._kept.items() if kept < before}
        for entry in self._entries:
            ids.difference_update(id.decode() for id in MENTIONED.findall(entry.text))
        size = sum(len(self._contents.pop(id)) for id in ids)
        self._kept = {id: kept for id, kept in self._kept.items() if id not in ids}
        return Swept(len(ids), size)

    async def close(self) -> None:
        self._closed = True
        self._news.tell()

    def _after(self, seq: int) -> list[Entry]:
        return self._entries[bisect_right(self._entries, seq, key=lambda entry: entry.seq) :]

    def _open(self) -> None:
        if self._closed:
            raise OperationFailed("the journal is closed", code="journal_unusable")

    def _stream(self, run: str) -> _Stream:
        if run not in self._streams:
            raise NotFound(f"there is no run {run!r}", code="run_not_found")
        return self._streams[run]

    def _hold(self, claim: Claim, until: float) -> bool:
        """Whether it is still owned under this claim."""
        stream = self._streams.get(claim.run)
        if not stream or stream.epoch != claim.epoch:
            return False
        stream.until = until
        return True


class _Stream(msgspec.Struct):
    run_seq: int = 0
    id: str = ORIGIN
    owner: str = ""
    epoch: int = 0
    until: float = 0.0
