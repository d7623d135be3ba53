"""What every route shares: the open project, what runs in this server, and how it is guarded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Sketch
from folkmoot.domain.entry import Entry
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.workshop import load_project
from folkmoot.errors import WrongUse
from folkmoot.http.limits import (
    AuthThrottle,
    ConnectionLimit,
    RefusalLog,
    ServerLimits,
    TokenAuthenticator,
    check_token,
)
from folkmoot.http.requests import IdempotencyCache
from folkmoot.http.runs import CollaborationRunner, RunManager
from folkmoot.http.stream.event_source import OpenStreams
from folkmoot.http.stream.hub import Hub
from folkmoot.http.stream.tokens import TokenStream
from folkmoot.loader.load import sketch
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.ports import Filter
from folkmoot.views.conversations import Conversation, Conversations, ThreadRow, thread_rows
from folkmoot.views.work_sessions import WorkList, WorkRow

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Where a server listens, and whom it lets in."""

    host: str = "127.0.0.1"
    port: int = 8484
    token: str = ""
    """Whoever has it may do everything; empty on loopback: whoever is on this machine may."""
    names: tuple[str, ...] = ()
    """Further names under which people reach it, such as `folkmoot.example.com`."""
    proxies: tuple[str, ...] = ()
    """Addresses of reverse proxies: they are believed when they say for whom they ask."""
    limits: ServerLimits = field(default_factory=ServerLimits)

    def __post_init__(self) -> None:
        if not self.is_local and not self.token:
            raise WrongUse(
                f"{self.host} can be reached from elsewhere: set FOLKMOOT_TOKEN to a secret of your own, or name a"
                " file that holds one with --token-file (`folkmoot serve --new-token` prints one), or let"
                " `folkmoot serve` listen on 127.0.0.1",
                code="token_missing",
            )
        if self.token:
            check_token(self.token)

    @property
    def is_local(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_everywhere(self) -> bool:
        """On all addresses of this machine."""
        return self.host in ("0.0.0.0", "::")

    @property
    def known_hosts(self) -> frozenset[str]:
        """What may stand in `Host`, without the port."""
        local = ("127.0.0.1", "localhost", "[::1]") if self.is_local or self.is_everywhere else ()
        own = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(name.lower() for name in (own, *local, *self.names))


class JournalViews:
    """Views of the whole journal that are kept: each look reads only what came since the last."""

    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._lock = asyncio.Lock()
        self._seen = 0
        self.work = WorkList()
        self.conversations = Conversations()
        self.delegated = Conversations(delegated=True)

    async def now(self) -> JournalViews:
        """As the journal stands now."""
        async with self._lock:
            async for entry in self._moot.events(after=self._seen):
                self.work.take(entry)
                self.conversations.take(entry.draft)
                self.delegated.take(entry.draft)
                self._seen = entry.seq
        return self

    async def work_rows(self) -> Iterator[WorkRow]:
        """Where something happened last first; each is made when it is asked for."""
        return (await self.now()).work.rows(self._moot.moot.clock.now())

    async def threads(self) -> list[ThreadRow]:
        """What main agents said to each other; where something was said last first."""
        folds, now = await self.now(), self._moot.moot.clock.now()
        return thread_rows(folds.conversations.threads.values(), lambda id: folds.work.row(id, now), now)


class ServerState:
    """Everything that one server has, and what it is to operations: their host."""

    def __init__(self, *, moot: Folkmoot, door: ServerOptions) -> None:
        self.moot = moot
        self.door = door
        self.clock = moot.moot.clock
        self.project = moot.moot
        """For operations."""
        self.project.host = self
        self.folds = JournalViews(moot)
        self.hub = Hub(moot)
        """What happens, for all who look on."""
        self.tokens = TokenStream()
        self.room = RunManager(moot, self.tokens.ear)
        self.carrying = CollaborationRunner(moot, self.room)
        self.streams = OpenStreams()
        self.keys = TokenAuthenticator(door.token, self.streams.close)
        self.refusals = RefusalLog(self.clock.monotonic)
        self.connections = ConnectionLimit(door.limits, door.proxies, self.refusals)
        self.throttle = AuthThrottle(self.clock.monotonic, self.clock.sleep)
        self.repeats = IdempotencyCache()
        self._made: dict[object, Any] = {}

    def one(self, make: Callable[[Folkmoot], T]) -> T:
        """What `make` gives for this project; it is made when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(self.moot)
        made: T = self._made[make]
        return made

    @property
    def folder(self) -> Path:
        return self.moot.folder

    def tools(self) -> ToolsetFactory:
        return self.moot.kits

    def sinks(self) -> Iterable[SinkSettings]:
        return self.moot.graph.settings.sinks.values()

    async def find(self, wanted: Filter) -> list[Entry]:
        return await self.moot.find(wanted)

    async def work_rows(self) -> Iterator[WorkRow]:
        return await self.folds.work_rows()

    async def find_work(self, name: str) -> WorkRow:
        if exact := (await self.folds.now()).work.row(name, self.clock.now()):
            return exact
        known = {row.id: row for row in [*await self.work_rows()][::-1]}
        return known[WORK_SESSION.resolve(known, name)]

    async def threads(self, *, delegated: bool) -> Mapping[str, Conversation]:
        folds = await self.folds.now()
        return (folds.delegated if delegated else folds.conversations).threads

    def go_on(self, run: str) -> None:
        """With a run that was answered or let go on; in front of a shared journal a worker does."""
        if not self.moot.moot.journal.shared:
            self.room.resume(run)

    async def files_now(self) -> Sketch:
        """The files of the project as they are by now, sound or not; the server goes on with those it was started with.
        Read beside the event loop, because a project may have many files."""
        loading = partial(load_project, self.moot.folder, tools=self.moot.tools)
        return await asyncio.to_thread(sketch, self.moot.folder, loading)


def get_server_state(connection: HTTPConnection) -> ServerState:
    house: ServerState = connection.app.state.house
    return house
