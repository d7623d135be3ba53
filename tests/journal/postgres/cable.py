"""A cable to PostgreSQL that can be cut at an exact point: before the server hears something, or after it has done it."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from folkmoot.domain.settings import Storage

_SOCKET = ".s.PGSQL.5432"
COMMIT = b"COMMIT\0"
"""The message that ends a transaction; one begins with `BEGIN … READ COMMITTED`."""


class Cable:
    def __init__(self, server: Path) -> None:
        self._server = server / _SOCKET
        self.cut_at = b""
        """The cable is cut, once, at the message of a client that holds this."""
        self.delivered = False
        """Whether the server still hears that message, and does it, and only its answer is lost."""
        self.late: asyncio.Event | None = None
        """Then it arrives after this, for a client that is long gone."""
        self.arrived = asyncio.Event()
        self.back: asyncio.Event | None = None
        """Until then nobody gets through again."""
        self.cuts = 0

    async def connect(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        if self.back and self.cuts:
            await self.back.wait()
        server_in, server_out = await asyncio.open_unix_connection(self._server)
        back = asyncio.ensure_future(self._carry(server_in, client_out))
        try:
            while data := await client_in.read(1 << 20):
                if self.cut_at and self.cut_at in data:
                    self.cut_at = b""
                    self.cuts += 1
                    if self.delivered or self.late:
                        back.cancel()
                        await asyncio.wait([back])
                    if self.late:
                        client_out.close()
                        await self.late.wait()
                    if self.delivered or self.late:
                        server_out.write(data)
                        await server_in.read(1)  # it answers when it is done
                        self.arrived.set()
                    break
                server_out.write(data)
        finally:
            back.cancel()
            for end in (server_out, client_out):
                end.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 20):
            target.write(data)
        target.close()


@asynccontextmanager
async def cable(storage: Storage, folder: Path):
    """The cable, and the same project at its other end."""
    url, _, host = (storage.url or "").partition("?host=")
    line = Cable(Path(host))
    listening = await asyncio.start_unix_server(line.connect, folder / _SOCKET)
    async with listening:
        yield line, Storage(url=f"{url}?host={folder}", project=storage.project)
