"""A TCP proxy before PostgreSQL that swallows the answer to one commit: it is done, and nobody hears of it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from chaos.life import Life
from folkmoot.domain.settings import Storage

_COMMIT = b"COMMIT\0"


@dataclass
class Proxy:
    behind: Storage
    silence: float
    """Seconds for which the connection is open and silent; then it is cut."""
    intent: bytes = b'"tool":"send"'
    """The commit whose answer is swallowed holds this, in a `tool.started`."""
    swallowed: bool = False

    def storage(self, storage: Storage, life: Life) -> Storage:
        """The same project, through the proxy."""
        port = int(life.first_word())
        return Storage(url=f"postgresql://tester@127.0.0.1:{port}/postgres", project=storage.project)

    async def live(self, says: int) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        os.write(says, f"{server.sockets[0].getsockname()[1]}\n".encode())
        await asyncio.Event().wait()

    async def _connect(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        folder = parse_qs(urlsplit(self.behind.url or "").query)["host"][0]
        server_in, server_out = await asyncio.open_unix_connection(Path(folder) / ".s.PGSQL.5432")
        back = asyncio.ensure_future(_carry(server_in, client_out))
        begun = intended = False
        try:
            while data := await client_in.read(1 << 20):
                begun = begun or b"BEGIN" in data
                intended = intended or (b'"type":"tool.started"' in data and self.intent in data)
                if intended and (not begun or _COMMIT in data) and not self.swallowed:
                    self.swallowed = True
                    back.cancel()
                    await asyncio.wait([back])
                    server_out.write(data)
                    await server_in.read(1)
                    await asyncio.sleep(self.silence)
                    return
                begun = begun and _COMMIT not in data
                server_out.write(data)
        except ConnectionError:
            pass
        finally:
            back.cancel()
            for end in (server_out, client_out):
                end.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 20):
            target.write(data)
    except ConnectionError:
        pass
    target.close()
