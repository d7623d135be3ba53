"""Who is connected, and how many more may be. Where there is no room, whoever came first and asks nothing gives way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable
from typing import Protocol

from folkmoot.http.limits import Limits
from folkmoot.http.refusals import Refusals


class Guest(Protocol):
    """A connection."""

    @property
    def is_idle(self) -> bool:
        """Whether it has no request under way: it has sent none, or only a part of its head."""

    def give_way(self) -> None:
        """Close it."""


class Crowd:
    def __init__(self, limits: Limits, proxies: Container[str], refusals: Refusals) -> None:
        self._limits = limits
        self._proxies = proxies
        """These come for many, and count only together with all."""
        self._refusals = refusals
        self._from: dict[Hashable, tuple[str, Guest]] = {}
        """In the order in which they came."""
        self._each: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._from)

    def admit(self, connection: Hashable, address: str, guest: Guest) -> bool:
        many = self._each[address] >= self._limits.connections_each and address not in self._proxies
        if (many or len(self) >= self._limits.connections) and not self._make_room(address if many else ""):
            self._refusals.note("connections", address, f"{len(self)} are open")
            return False
        self._from[connection] = address, guest
        self._each[address] += 1
        return True

    def _make_room(self, address: str) -> bool:
        """Among those from this address; empty: among all."""
        for connection, (came_from, guest) in self._from.items():
            if address in ("", came_from) and guest.is_idle:
                self.leave(connection)
                guest.give_way()
                return True
        return False

    def leave(self, connection: Hashable) -> None:
        """Of one that was never admitted nothing is known."""
        if known := self._from.pop(connection, None):
            self._each -= Counter([known[0]])
