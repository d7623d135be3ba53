"""Who is connected, and how many more may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable

from folkmoot.http.limits import Limits
from folkmoot.http.refusals import Refusals


class Crowd:
    def __init__(self, limits: Limits, proxies: Container[str], refusals: Refusals) -> None:
        self._limits = limits
        self._proxies = proxies
        """These come for many, and count only together with all."""
        self._refusals = refusals
        self._from: dict[Hashable, str] = {}
        self._each: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._from)

    def admit(self, connection: Hashable, address: str) -> bool:
        many = self._each[address] >= self._limits.connections_each and address not in self._proxies
        if many or len(self) >= self._limits.connections:
            self._refusals.note("connections", address, f"{len(self)} are open")
            return False
        self._from[connection] = address
        self._each[address] += 1
        return True

    def leave(self, connection: Hashable) -> None:
        """Of one that was never admitted nothing is known."""
        if address := self._from.pop(connection, ""):
            self._each -= Counter([address])
