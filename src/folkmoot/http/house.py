"""What every route shares: the open project, its engine room, and how this server is guarded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from ipaddress import ip_address
from pathlib import Path

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Entry
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.work_session_fold import WORK_SESSION
from folkmoot.errors import WrongUse
from folkmoot.http.carrying import Carrying
from folkmoot.http.crowd import Crowd
from folkmoot.http.engine_room import EngineRoom
from folkmoot.http.folds import Folds
from folkmoot.http.heard import Heard
from folkmoot.http.keys import Keys, check_token
from folkmoot.http.limits import Limits
from folkmoot.http.open_streams import OpenStreams
from folkmoot.http.patience import Patience
from folkmoot.http.records import Records
from folkmoot.http.refusals import Refusals
from folkmoot.http.repeating import Repeats
from folkmoot.http.spoken import Spoken
from folkmoot.http.stream.hub import Hub
from folkmoot.operations.project import OpenProject
from folkmoot.orchestration.invocation import Ear
from folkmoot.orchestration.kit import Kits
from folkmoot.ports import Clock, Filter
from folkmoot.views.conversations import Conversation
from folkmoot.views.work_sessions import WorkRow


@dataclass(frozen=True, kw_only=True)
class Door:
    """Where a server listens, and whom it lets in."""

    host: str = "127.0.0.1"
    port: int = 8484
    token: str = ""
    """Whoever has it may do everything; empty on loopback: whoever is on this machine may."""
    names: tuple[str, ...] = ()
    """Further names under which people reach it, such as `folkmoot.example.com`."""
    proxies: tuple[str, ...] = ()
    """Addresses of reverse proxies: they are believed when they say for whom they ask."""
    limits: Limits = field(default_factory=Limits)

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


@dataclass(frozen=True, kw_only=True)
class House:
    moot: Folkmoot
    door: Door

    @cached_property
    def room(self) -> EngineRoom:
        """The runs that go on in this server."""
        room = EngineRoom(self.moot)
        room.ear = lambda run: Ear(
            self.heard.ear(run, self.hub.deltas.hear(run)), partial(self.spoken.begins, run)
        )
        return room

    @cached_property
    def carrying(self) -> Carrying:
        """The collaborations that this server carries on."""
        return Carrying(self.moot, self.room)

    @cached_property
    def project(self) -> OpenProject:
        """For operations."""
        project = self.moot.moot
        project.host = self
        return project

    @property
    def folder(self) -> Path:
        return self.moot.folder

    def tools(self) -> Kits:
        return self.moot.kits

    def sinks(self) -> Iterable[SinkSettings]:
        return self.moot.graph.settings.sinks.values()

    async def find(self, wanted: Filter) -> list[Entry]:
        return await self.moot.find(wanted)

    async def work_rows(self) -> Iterator[WorkRow]:
        return await self.records.work_rows()

    async def find_work(self, name: str) -> WorkRow:
        if exact := await self.records.work_row(name):
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

    @cached_property
    def heard(self) -> Heard:
        return Heard()

    @cached_property
    def spoken(self) -> Spoken:
        return Spoken()

    @cached_property
    def hub(self) -> Hub:
        """What happens, for all who look on."""
        return Hub(self.moot)

    @cached_property
    def records(self) -> Records:
        return Records(self.moot, self.folds)

    @cached_property
    def streams(self) -> OpenStreams:
        return OpenStreams()

    @cached_property
    def keys(self) -> Keys:
        return Keys(self.door.token, self.streams.close)

    @cached_property
    def refusals(self) -> Refusals:
        return Refusals(self.clock.monotonic)

    @cached_property
    def crowd(self) -> Crowd:
        return Crowd(self.door.limits, self.door.proxies, self.refusals)

    @cached_property
    def patience(self) -> Patience:
        return Patience(self.clock.monotonic, self.clock.sleep)

    @property
    def clock(self) -> Clock:
        return self.moot.moot.clock

    @cached_property
    def folds(self) -> Folds:
        return Folds(self.moot)

    @cached_property
    def repeats(self) -> Repeats:
        return Repeats()


def house_of(connection: HTTPConnection) -> House:
    house: House = connection.app.state.house
    return house
