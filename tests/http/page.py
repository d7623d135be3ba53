"""A browser without scripts: it reads pages and sends forms through the whole application, guard included."""

import asyncio
import html
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from folkmoot.http.server import build_application
from folkmoot.http.state import ServerOptions, ServerState


@dataclass
class Shown:
    status: int
    html: str
    location: str = ""
    type: str = ""

    @property
    def words(self) -> str:
        """What a person reads, in one line."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.html)).split())

    def between(self, start: str, end: str) -> str:
        """What a person reads of a part of the page."""
        part = self.html.partition(start)[2].partition(end)[0]
        return Shown(self.status, part).words


class Browser:
    def __init__(self, house: ServerState) -> None:
        self.house = house
        self._app = build_application(house)

    async def get(self, address: str) -> Shown:
        return await self._ask("GET", address, b"", {})

    async def head(self, address: str) -> Shown:
        """What something is, without it."""
        return await self._ask("HEAD", address, b"", {})

    async def send(self, address: str, **fields: str) -> Shown:
        """A form of the page. Where it leads to is in `location`."""
        headers = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8484"}
        return await self._ask("POST", address, urlencode(fields).encode(), headers)

    async def rest(self) -> None:
        """Return when no run is under way in this server any more."""
        moot, room = self.house.moot, self.house.room
        while going := [task for row in await moot.runs() if (task := room.task(row.run_id))]:
            await asyncio.wait(going)

    async def _ask(self, method: str, address: str, body: bytes, headers: dict[str, str]) -> Shown:
        path, _, query = address.partition("?")
        said = {"host": "127.0.0.1:8484", "accept": "text/html", **headers}
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in said.items()],
            "server": ("127.0.0.1", 8484), "client": ("127.0.0.1", 50000),
        }  # fmt: skip
        sent: list[dict] = []

        async def receive() -> dict:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        given = dict(sent[0]["headers"])
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return Shown(
            sent[0]["status"],
            text,
            given.get(b"location", b"").decode(),
            given.get(b"content-type", b"").decode(),
        )


@asynccontextmanager
async def browsing(desk):
    """The pages of a project; when it closes, whatever it began has come to its end."""
    async with desk.open() as moot:
        house = ServerState(moot=moot, door=ServerOptions())
        page = Browser(house)
        yield page
        await page.rest()
