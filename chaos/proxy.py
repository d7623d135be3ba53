"""A TCP proxy before PostgreSQL that swallows the answer to one commit: it is done, and nobody hears of it."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from chaos.life import Life
from folkmoot.domain.settings import Storage

_COMMITTED = b"Z\0\0\0\5I"
"""What the server says last when it is in no transaction: a statement may come without its text, being prepared."""


@dataclass
class Proxy:
    behind: Storage
    silence: float
    """Seconds for which the connection is open and silent; then it is cut."""
    intent: bytes = b'"tool":"send"'
    """The commit whose answer is swallowed holds this, in a `tool.started`."""
    swallowed: bool = False
    says: int = -1

    def storage(self, storage: Storage, life: Life) -> Storage:
        """The same project, through the proxy."""
        port = int(life.first_word())
        return Storage(url=f"postgresql://tester@127.0.0.1:{port}/postgres", project=storage.project)

    async def live(self, says: int) -> None:
        self.says = says
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        os.write(says, f"{server.sockets[0].getsockname()[1]}\n".encode())
        await asyncio.Event().wait()

    async def _connect(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        folder = parse_qs(urlsplit(self.behind.url or "").query)["host"][0]
        server_in, server_out = await asyncio.open_unix_connection(Path(folder) / ".s.PGSQL.5432")
        intended = asyncio.Event()
        back = asyncio.ensure_future(self._answer(server_in, client_out, intended))
        try:
            while data := await client_in.read(1 << 20):
                if b'"type":"tool.started"' in data and self.intent in data:
                    intended.set()
                server_out.write(data)
        except ConnectionError:
            pass
        finally:
            back.cancel()
            for end in (server_out, client_out):
                end.close()

    async def _answer(
        self, server: asyncio.StreamReader, client: asyncio.StreamWriter, intended: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while data := await server.read(1 << 20):
                if intended.is_set() and not self.swallowed and _COMMITTED in data:
                    self.swallowed = True
                    os.write(self.says, b"swallowed\n")
                    await asyncio.sleep(self.silence)
                    break
                client.write(data)
        client.close()
