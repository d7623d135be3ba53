"""What every journal does alike, over a reader and a writer of its own.

Reading goes to the reader at once; whatever writes is a job for the writer, which does many of them in one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Protocol

from folkmoot.domain.entry import Draft, Entry
from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.journal.artifacts import Content, Contents, Unnamed
from folkmoot.journal.codec import check_stream, linked
from folkmoot.journal.rows import Progress, ReadModel
from folkmoot.ports import Claim, Epoch, NewRun, Post, Query, Stored, Swept, Version


@dataclass(slots=True, eq=False)
class Job:
    """Something to write, and the contents that must be durable no later; `done` learns what became of it."""

    work: Callable[[Any], Any]
    """Given the ledger of a transaction. It may be asked several times; the last time counts."""
    streams: Sequence[str]
    """Those that it looks at."""
    contents: Sequence[Content]
    done: asyncio.Future[Any]
    appends: bool = False
    """And does nothing else."""
    owned: bool = False
    """It holds only as long as its streams have the owner that it was done for."""
    outcome: Any = None
    written: bool = False
    """Whether its transaction was committed, even if the work itself was refused."""

    def perform(self, ledger: Any) -> bool:
        """Whether it was not refused."""
        try:
            self.outcome = self.work(ledger)
        except FolkmootError as refusal:
            self.outcome = refusal
            return False
        return True


Settled = Callable[[Sequence[Job]], None]
"""Told the jobs of a transaction when each has its outcome; in the event loop."""


class JournalWriter(Protocol):
    def submit(self, job: Job) -> None: ...

    async def close(self) -> None:
        """Write what was submitted, then end."""


class JournalReader(Protocol):
    def stored(self, query: Query) -> AsyncIterator[Stored]: ...

    async def artifact(self, id: str) -> bytes: ...

    async def claims(self, runs: Collection[str] | None) -> list[Claim]: ...

    async def posts(self, runs: Sequence[str]) -> list[Post]: ...

    async def unnamed(self, young: float) -> Unnamed: ...

    async def close(self) -> None: ...


class News:
    """Wakes whoever waits for the next entry. For one event loop; it tells that there is something, not what."""

    def __init__(self) -> None:
        self.told = 0
        """Look at it before reading; if it has moved by the time of waiting, there is something to read."""
        self._waiting: dict[asyncio.Future[None], None] = {}
        """In the order in which they came, which a set would leave to chance."""

    def tell(self) -> None:
        self.told += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait(self, told: int, seconds: float | None = None) -> None:
        """Return when more was told than `told`, or after some time."""
        if self.told != told:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = None
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            del self._waiting[waiting]


class JournalFront(ReadModel):
    """To be used from one event loop at a time. A subclass says where rows of the read model come from."""

    artifacts = True
    """It holds what it names."""
    shared = False
    poll: float | None = None
    """Seconds until a follower looks for what other processes wrote; None: there are none."""

    def __init__(
        self,
        reader: JournalReader,
        writer: Callable[[Settled], JournalWriter] | None,
        contents: Contents,
    ) -> None:
        """Without a writer the journal is only read."""
        self._reader = reader
        self._make_writer = writer
        self._writer: JournalWriter | None = None
        self._contents = contents
        self._news = News()
        self._closed = False
        self.progress: Progress = lambda done, count: None

    async def installation_secret(self) -> bytes:
        return b""

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        """As the port says. Who is cancelled while waiting does not know whether it was written."""
        try:
            bodies = [self._contents.body(stream, draft) for draft in drafts]
            owned = not isinstance(expected, Version)
            return self._submit(
                lambda ledger: ledger.append(stream, expected, bodies), (stream,), appends=True, owned=owned
            )
        except FolkmootError as error:
            refused: asyncio.Future[Sequence[Entry]] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return refused

    def keep(self, content: bytes) -> str:
        self._check_writable()
        return self._contents.keep(content)

    async def artifact(self, id: str) -> bytes:
        waiting = self._contents.get(id)
        return waiting if waiting is not None else await self._reader.artifact(id)

    def read(self, query: Query) -> AsyncIterator[Entry]:
        return linked(self._reader.stored(query), query)

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        return self._reader.stored(query)

    async def follow(self, after: int = 0) -> AsyncIterator[Entry]:
        while not self._closed:
            self._listen()
            told = self._news.told
            async for entry in self.read(Query(after=after)):
                yield entry
                after = entry.seq
                if self._closed:
                    return
            await self._news.wait(told, self.poll)

    async def claim(self, run: str, owner: str, lease: float, after: str = "") -> Claim:
        claim: Claim = await self._submit(
            lambda ledger: ledger.claim(run, (owner, after), lease), (run,), owned=True
        )
        return claim

    async def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        held: frozenset[str] = await self._submit(
            lambda ledger: ledger.renew(claims, lease), [claim.run for claim in claims], owned=True
        )
        return held

    async def release(self, claim: Claim, *, wake: bool = False) -> None:
        await self._submit(lambda ledger: ledger.release(claim, wake=wake), (claim.run,))

    async def claims(self, runs: Collection[str] | None = None) -> Sequence[Claim]:
        return await self._reader.claims(runs)

    async def post(self, run: str, kind: str, body: str = "", *, wake: bool = True) -> None:
        await self._submit(lambda ledger: ledger.post(run, kind, body, wake=wake), (run,))

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        return await self._reader.posts(runs)

    async def take(self, post: Post) -> None:
        await self._submit(lambda ledger: ledger.take(post))

    async def restore(self, stream: str, entries: Sequence[Stored]) -> None:
        self._check_writable()
        check_stream(stream, entries)
        bodies = [self._contents.stored_body(entry) for entry in entries]
        await self._submit(lambda ledger: ledger.restore(stream, bodies), (stream,))

    async def prune(self, run: str, expected: Version, tombstone: Draft) -> int:
        self._check_writable()
        body = self._contents.body(run, tombstone)
        removed: list[int] = await self._submit(lambda ledger: ledger.prune(run, expected, body), (run,))
        return removed[0]

    async def sweep(self, young: float) -> Swept:
        """Looks for them without a lock, which takes long, and under the lock only at what was added since."""
        self._check_writable()
        found = await self._reader.unnamed(young)
        swept: list[Swept] = []
        for part in found.parts():
            swept += await self._submit(methodcaller("sweep", part))
        return Swept(sum(each.artifacts for each in swept), sum(each.size for each in swept))

    async def close(self) -> None:
        """Write what was handed over, and let go of the journal."""
        if self._closed:
            return
        try:
            if self._contents.unsent:
                await self._submit(lambda ledger: None)
        finally:
            self._closed = True
            self._news.tell()
            if self._writer:
                await self._writer.close()
            await self._reader.close()

    def _listen(self) -> None:
        """See that `_news` tells of what others write, where it can."""

    def _submit(
        self,
        work: Callable[[Any], Any],
        streams: Sequence[str] = (),
        *,
        appends: bool = False,
        owned: bool = False,
    ) -> asyncio.Future[Any]:
        make_writer = self._check_writable()
        writer = self._writer = self._writer or make_writer(self._settle)
        done = asyncio.get_running_loop().create_future()
        writer.submit(Job(work, streams, self._contents.hand_over(), done, appends, owned))
        return done

    def _check_writable(self) -> Callable[[Settled], JournalWriter]:
        if self._closed:
            raise OperationFailed("the journal is closed", code="journal_unusable")
        if self._make_writer is None:
            raise OperationFailed("the journal was opened for reading only", code="journal_unusable")
        return self._make_writer

    def _settle(self, jobs: Sequence[Job]) -> None:
        """Called in the event loop, for all jobs of a transaction at once."""
        for job in jobs:
            if job.contents:
                self._contents.settle(job.contents, written=job.written)
            if job.done.done():
                continue
            if isinstance(job.outcome, FolkmootError):
                job.done.set_exception(job.outcome)
            else:
                job.done.set_result(job.outcome)
        self._news.tell()
