"""What every route shares: the open project, and how this server is guarded."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.errors import WrongUse
from folkmoot.http.folds import Folds
from folkmoot.http.repeating import Repeats
from folkmoot.http.running import Running


@dataclass(frozen=True, kw_only=True)
class Door:
    """Where a server listens, and whom it lets in."""

    host: str = "127.0.0.1"
    port: int = 8484
    token: str = ""
    """Whoever has it may do everything; empty on loopback: whoever is on this machine may."""
    names: tuple[str, ...] = ()
    """Further names under which people reach it, such as `folkmoot.example.com`."""
    max_body: int = 1_000_000
    """Bytes of a request."""

    def __post_init__(self) -> None:
        if not self.is_local and not self.token:
            raise WrongUse(
                f"{self.host} can be reached from elsewhere: set FOLKMOOT_TOKEN to a secret of your own, or let"
                " `folkmoot serve` listen on 127.0.0.1"
            )

    @property
    def is_local(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def known_hosts(self) -> frozenset[str]:
        """What may stand in `Host`, without the port."""
        local = ("127.0.0.1", "localhost", "[::1]") if self.is_local else ()
        return frozenset(name.lower() for name in (self.host, *local, *self.names))


@dataclass(frozen=True, kw_only=True)
class House:
    moot: Folkmoot
    door: Door
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Signs the cookies of this process: who signs in must do so again after a restart."""

    @cached_property
    def running(self) -> Running:
        """The runs that go on in this server."""
        return Running(self.moot)

    @cached_property
    def folds(self) -> Folds:
        return Folds(self.moot)

    @cached_property
    def repeats(self) -> Repeats:
        return Repeats()


def house_of(connection: HTTPConnection) -> House:
    house: House = connection.app.state.house
    return house
