"""Writes to a journal's database: many jobs, one transaction. Only this file commits.

There is one connection for writing and a thread that works with it; what comes in while the thread commits is
its next transaction. As long as commits are quick, the event loop makes them itself instead, because waking a
thread and being woken by it costs as much CPU as the commit; the first slow one, or a lock in the way, and
the thread takes over until they are quick again. `_handed` says who has the connection: the thread from
`_hand_over` to `_answer`, otherwise the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from folkmoot.errors import FolkmootError, JournalDamaged, OperationFailed
from folkmoot.journal.artifacts import confirm_file, store_file, store_row
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.database import PATIENCE, begin, connect, explain, identity, is_busy, known_migrations
from folkmoot.journal.front import Job, Settled
from folkmoot.journal.ledger import Ledger
from folkmoot.journal.tables import StoredTables

_CROWDED = 0.0005
"""Seconds; a task that writes within this time after another is one of many, and many are written together."""
_QUICK = 0.002
"""Seconds that a commit may hold up the event loop."""
_CHECKPOINT = 4_000_000
"""Bytes, roughly, after which the write-ahead log is copied into the database and begun anew: writing over an
old log costs half of what letting it grow does."""
_COMMIT_SIZE = 12_000
"""What a commit adds to the log beside its texts, roughly: the rest of the pages that it touches."""


class Bell:
    """The way from the writer's thread back to the event loop: a pipe that the loop listens to.

    `call_soon_threadsafe` would do the same for 25 µs more CPU, measured with a commit between two rings.
    """

    def __init__(self, answer: Callable[[], None]) -> None:
        self._answer = answer
        self._hear, self._pull = os.pipe()
        os.set_blocking(self._hear, False)
        self._loop: asyncio.AbstractEventLoop | None = None

    def listen(self) -> None:
        """Have it answered in the running event loop from now on."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._forget_loop()
            loop.add_reader(self._hear, self._heard)
            self._loop = loop

    def ring(self) -> None:
        """From any thread."""
        os.write(self._pull, b"!")

    def close(self) -> None:
        """Answer what was rung until now; nobody may ring any more."""
        self._heard()
        self._forget_loop()
        os.close(self._hear)
        os.close(self._pull)

    def _heard(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._hear, 4096)
        self._answer()

    def _forget_loop(self) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self._hear)
        self._loop = None


class Writer:
    """The thread starts when it is first needed. It is a daemon: a forgotten close does not keep a process
    alive, and what was acknowledged is on the disk by then."""

    def __init__(
        self, path: Path, monotonic: Callable[[], float], wall: Callable[[], float], settled: Settled
    ) -> None:
        self._path = path
        self._wall = wall
        self._settled = settled
        self._connection = connect(path)
        self._file = identity(path)
        self._connection.execute("PRAGMA busy_timeout = 0")  # `begin` waits by itself
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")  # so does `_checkpoint`, when nobody waits
        tables = StoredTables(self._connection, path.parent)
        version = known_migrations()[-1].version
        self._ledger = Ledger(self._connection, path, monotonic, tables, version)
        self._waiting: list[Job] = []
        self._queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._bell = Bell(self._answer)
        self._thread = threading.Thread(target=self._run, name="folkmoot-journal", daemon=True)
        self._done: deque[tuple[list[Job], int, float]] = deque()
        self._handed = 0
        self._last = 0.0
        """When the last commit in the event loop ended."""
        self._alone = 0
        """The id of the task that had that commit for itself; not the task, which would be kept alive."""
        self._quick = True
        """So was the last commit."""
        self._owed: dict[str, tuple[bytes, float]] = {}
        """Contents that go into the next transaction, each with the time at which it was kept."""
        self._logged = 0
        self._broken: FolkmootError | None = None

    def submit(self, job: Job) -> None:
        """Write it at once if nobody else has written for a moment, otherwise with whatever else comes meanwhile."""
        if not self._waiting:
            task = asyncio.current_task()
            alone = (task and id(task) == self._alone) or time.monotonic() - self._last > _CROWDED
            if alone and self._write_here([job]):
                self._alone = id(task)
                return
            self._alone = 0
            asyncio.get_running_loop().call_soon(self._begin)
        self._waiting.append(job)

    async def close(self) -> None:
        """Write what was submitted, then end."""
        if self._waiting:
            self._begin()
        if self._thread.ident is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
        self._bell.close()
        self._connection.close()

    def _begin(self) -> None:
        jobs, self._waiting = self._waiting, []
        if jobs and not self._write_here(jobs):
            self._hand_over(jobs)

    def _write_here(self, jobs: list[Job]) -> bool:
        """In the event loop, if that will not hold it up for long; False if it is a matter for the thread."""
        if not self._quick or self._handed or any(map(_is_large, jobs)):
            return False
        started = time.monotonic()
        if not self._perform(jobs, patience=0.0):
            return False
        self._last = time.monotonic()
        self._quick = self._last - started < _QUICK
        self._settled(jobs)
        self._checkpoint()
        return True

    def _hand_over(self, jobs: list[Job]) -> None:
        self._bell.listen()
        if self._thread.ident is None:
            self._thread.start()
        self._handed += 1
        self._queue.put(jobs)

    def _checkpoint(self) -> None:
        if self._logged > _CHECKPOINT:
            self._logged = 0
            self._hand_over([])

    def _run(self) -> None:
        """The thread."""
        ended = False
        while not ended:
            batches = [self._queue.get(), *(self._queue.get() for _ in range(self._queue.qsize()))]
            ended = batches[-1] is None
            jobs = [job for batch in batches if batch for job in batch]
            if jobs:
                started = time.monotonic()
                self._perform(jobs, PATIENCE)
                self._report(jobs, sum(map(bool, batches)), time.monotonic() - started)
            if [] in batches:
                self._copy_log()
                self._report([], batches.count([]), 0.0)

    def _report(self, jobs: list[Job], batches: int, seconds: float) -> None:
        self._done.append((jobs, batches, seconds))
        self._bell.ring()

    def _answer(self) -> None:
        """In the event loop, after the thread rang."""
        while self._done:
            jobs, batches, seconds = self._done.popleft()
            self._handed -= batches
            if jobs:
                self._quick = seconds < _QUICK
                self._settled(jobs)
                self._checkpoint()

    def _perform(self, jobs: list[Job], patience: float) -> bool:
        """One transaction for all of them; each is then to be acknowledged or refused. False if another
        process had the lock and there was no time to wait for it."""
        failure = self._broken or self._commit(jobs, patience)
        if failure and failure is not self._broken and not patience:
            return False
        for job in jobs:
            job.written = failure is None
            if failure:
                job.outcome = failure
        return True

    def _commit(self, jobs: list[Job], patience: float) -> FolkmootError | None:
        """The error, if nothing was written."""
        try:
            for job in jobs:
                if job.contents:
                    at = self._wall()
                    self._owed.update((id, (content, at)) for id, content in job.contents)
            for id, (content, _) in self._owed.items():
                if len(content) > LIMIT:
                    store_file(self._path.parent, id, content)
            begin(self._connection, patience)
            if identity(self._path) != self._file:
                raise OperationFailed(f"{self._path} was removed or replaced while it was open")
            self._ledger.begin()
            for id, (content, at) in self._owed.items():
                if len(content) > LIMIT:
                    confirm_file(self._path.parent, id, content, at)
                else:
                    store_row(self._connection, id, content, at)
                self._logged += len(content)
            for job in jobs:
                job.perform(self._ledger)
            self._logged += self._ledger.flush() + _COMMIT_SIZE
            self._connection.execute("COMMIT")
            self._owed.clear()
        # Whatever it is, those who wait must learn of it, and a thread has no caller.
        except Exception as error:
            return self._fail(error)
        return None

    def _copy_log(self) -> None:
        if not self._broken:
            try:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            except sqlite3.Error as error:
                self._fail(error)

    def _fail(self, error: Exception) -> FolkmootError:
        """Only a lock that was not free is harmless. After anything else it is uncertain what the disk holds,
        and only opening the journal anew can tell: nothing is acknowledged any more."""
        explained = explain(error, self._path, self._connection)
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        elif is_busy(error):
            return explained
        kind = JournalDamaged if isinstance(explained, JournalDamaged) else OperationFailed
        self._broken = kind(
            f"the journal takes no more entries after an error; mend its cause and open it again: {explained}"
        )
        return self._broken


def _is_large(job: Job) -> bool:
    return bool(job.contents) and any(len(content) > LIMIT for _, content in job.contents)
