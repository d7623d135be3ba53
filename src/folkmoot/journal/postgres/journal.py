"""The journal of a project in PostgreSQL: any number of processes on any number of hosts.

Nothing is connected before it is needed, and everything that is survives a server that restarts: what is written or
read meanwhile waits for it, up to `PATIENCE`. Who takes a run over has watched its owner be silent for a whole lease,
by its own clock (`Watch`); the epoch, checked under the same lock as everything else, decides who may write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from folkmoot.domain.fence import Watch
from folkmoot.domain.settings import Storage
from folkmoot.journal.contents import Contents
from folkmoot.journal.front import JournalFront
from folkmoot.journal.postgres.reader import Reader
from folkmoot.journal.postgres.server import Listener, Server
from folkmoot.journal.postgres.tables import PostgresTables
from folkmoot.journal.postgres.writer import Writer


class PostgresJournal(JournalFront):
    shared = True
    poll = 1.0
    _reader: Reader

    def __init__(
        self,
        storage: Storage,
        *,
        readonly: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        server = Server(storage, readonly=readonly)
        self.watch = Watch(monotonic)
        reader = Reader(server)
        writer = None if readonly else lambda settled: Writer(server, self.watch, settled)
        super().__init__(reader, writer, Contents())
        self._tables = PostgresTables(server, reader)
        self._listener = Listener(server, self._news.tell, [server.schema])

    async def installation_secret(self) -> bytes:
        return await self._reader.installation_secret()

    async def wake(self, runs: Sequence[str], later: float = 0.0) -> None:
        """Have a worker go on with these runs, now or after so many seconds, unless one is about to anyway."""
        await self._submit(lambda ledger: ledger.wake(runs, later))

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        return await self._tables.select(statement, values, self.progress)

    async def rebuild(self) -> None:
        await self._tables.create()

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            await self._listener.close()
            await self._tables.close()

    def _listen(self) -> None:
        self._listener.start()
