"""Who may use this server, and how much: its token and the signed cookies that stand for it in a browser; the limits,
who is over one, and what is logged of it."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Container, Hashable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from folkmoot.errors import WrongUse

LINES = 5
"""That are logged in a minute, of one kind of refusal."""
_MINUTE = 60.0
_LONGEST_LINE = 200
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 3.0
_FORGOTTEN = 300.0
"""Seconds for which an address that sent a wrong token stays known."""
_ADDRESSES = 1_000
_WAITING = 50
"""How many are kept waiting at once; more of them are not waited with, and told to come later."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    body: int = 1_000_000
    """Bytes of a request."""
    chat_body: int = 32_000_000
    """The same for chat clients, which repeat their whole conversation with its pictures."""
    bodies: int = 500_000_000
    """Bytes of all requests together that are being answered."""
    head: int = 32_768
    """Bytes of a request's first line and headers together."""
    headers: int = 100
    head_time: float = 10.0
    """Seconds in which a request's headers must be there, however many bytes come meanwhile."""
    body_time: float = 60.0
    """Seconds in which the rest of it must be."""
    idle: int = 15
    """Seconds for which a connection stays open without a request."""
    connections: int = 2_500
    connections_each: int = 1_500
    """From one address."""
    message: int = 65_536
    """Bytes of one WebSocket message."""
    messages: int = 50
    """WebSocket frames in a second, of whatever kind."""


class RequestRefusal(NamedTuple):
    kind: str
    """One of a few: `host`, `origin`, `token`, …"""
    status: int
    words: str


class RefusalLog:
    """All that was not let in is counted; the log has a few lines a minute of it, however much comes."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.counts: Counter[str] = Counter()
        """By kind, since the server started."""
        self._minutes: dict[str, tuple[float, int]] = {}
        """By kind: when its minute began, and how many had come before that."""
        self._silent: Counter[str] = Counter()

    def note(self, kind: str, client: str, what: str) -> None:
        """`what` is of the client's making, so it is written as it cannot be mistaken for a line of ours."""
        self.counts[kind] += 1
        began, before = self._minutes.get(kind, (float("-inf"), 0))
        if (now := self._monotonic()) - began > _MINUTE:
            began, before = self._minutes[kind] = (now, self.counts[kind] - 1)
        if self.counts[kind] - before > LINES:
            self._silent[kind] += 1
            return
        silent = self._silent.pop(kind, 0)
        more = f" ({silent} more since the last line)" if silent else ""
        _log.warning(
            "refused: %s, from %s: %s%s", kind, client or "unknown", ascii(what[:_LONGEST_LINE]), more
        )


class ClosableConnection(Protocol):
    """A connection."""

    @property
    def is_idle(self) -> bool:
        """Whether it has no request under way: it has sent none, or only a part of its head."""

    def give_way(self) -> None:
        """Close it."""


class ConnectionLimit:
    """Who is connected. Where there is no room, the oldest connection that asks nothing gives way."""

    def __init__(self, limits: ServerLimits, proxies: Container[str], refusals: RefusalLog) -> None:
        self._limits = limits
        self._proxies = proxies
        """These come for many, and count only together with all."""
        self._refusals = refusals
        self._open: dict[Hashable, tuple[str, ClosableConnection]] = {}
        """With the address of each, in the order in which they came."""
        self._each: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, transport: Hashable, address: str, connection: ClosableConnection) -> bool:
        many = self._each[address] >= self._limits.connections_each and address not in self._proxies
        if (many or len(self) >= self._limits.connections) and not self._make_room(address if many else ""):
            self._refusals.note("connections", address, f"{len(self)} are open")
            return False
        self._open[transport] = address, connection
        self._each[address] += 1
        return True

    def _make_room(self, address: str) -> bool:
        """Among those from this address; empty: among all."""
        for transport, (came_from, connection) in self._open.items():
            if address in ("", came_from) and connection.is_idle:
                self.leave(transport)
                connection.give_way()
                return True
        return False

    def leave(self, transport: Hashable) -> None:
        """Of one that was never admitted nothing is known."""
        if known := self._open.pop(transport, None):
            self._each -= Counter([known[0]])


class AuthThrottle:
    """Answers wrong tokens ever more slowly, by address. The right one never waits, so nobody can be shut out."""

    def __init__(self, monotonic: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """By address: how often, and when last."""
        self.waiting = 0

    async def delay(self, address: str) -> bool:
        """Wait with the answer to a wrong token; whether there was room to."""
        pause = self._pause(address)
        if self.waiting >= _WAITING:
            return False
        self.waiting += 1
        try:
            await self._sleep(pause)
        finally:
            self.waiting -= 1
        return True

    def _pause(self, address: str) -> float:
        now = self._monotonic()
        times, last = self._failed.pop(address, (0, now))
        times = 1 if now - last > _FORGOTTEN else times + 1
        self._failed[address] = (times, now)
        if len(self._failed) > _ADDRESSES:
            self._failed.popitem(last=False)
        return float(min(_FIRST_PAUSE * 2 ** min(times - 1, 10), _LONGEST_PAUSE))


SHORTEST = 16
"""Characters of a token."""
STAYS = 12 * 3600
"""Seconds for which somebody is signed in."""


class TokenAuthenticator:
    def __init__(self, token: str, changed: Callable[[], None] = lambda: None) -> None:
        self._token = ""
        self._changed = changed
        """Told when whoever came in with the old token has to go."""
        if token:
            self.change(token)

    @property
    def needed(self) -> bool:
        return bool(self._token)

    def opens(self, given: str) -> bool:
        return bool(self._token) and hmac.compare_digest(given.encode(), self._token.encode())

    def change(self, token: str) -> None:
        """From now on only this one opens; no cookie that stands for another does."""
        check_token(token)
        self._token = token
        self._changed()

    def cookie(self, now: float) -> str:
        """`until.chance.signature`. It outlives a restart of the server, but not its token."""
        said = f"{int(now) + STAYS}.{secrets.token_hex(8)}"
        return f"{said}.{self._signature(said)}"

    def holds(self, cookie: str, now: float) -> bool:
        said, _, signature = cookie.rpartition(".")
        until = said.partition(".")[0]
        genuine = self.needed and hmac.compare_digest(signature.encode(), self._signature(said).encode())
        return genuine and int(until) > now

    def _signature(self, said: str) -> str:
        return hmac.new(self._token.encode(), f"folkmoot sign-in {said}".encode(), sha256).hexdigest()


def new_token() -> str:
    return secrets.token_urlsafe(32)


def check_token(token: str) -> None:
    """Raises `WrongUse` for one that could be guessed, or could not stand in a header."""
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise WrongUse(
            f"a token has {SHORTEST} characters or more, of ASCII and without spaces;"
            " `folkmoot serve --new-token` prints a good one"
        )


def read_token(file: Path) -> str:
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"--token-file {str(file)!r} cannot be read: {error}") from None
    if file.stat().st_mode & 0o077:
        raise WrongUse(
            f"others can read the token in {str(file)!r}: chmod 600 {file}", code="token_readable_by_others"
        )
    check_token(token)
    return token
