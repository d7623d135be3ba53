"""A chat client's request that may come again, under an `Idempotency-Key`: it is the same run then, not another."""

from __future__ import annotations

from hashlib import sha256

from starlette.requests import Request

from folkmoot.domain.value import Value
from folkmoot.http.doors.reading import WORK_SESSION
from folkmoot.http.repeating import another_request, key_of


class Ticket(Value):
    key: str
    """By hash, and for one address: also the name of the run that the request starts."""
    asks: str
    """What the request holds, by hash."""

    def __str__(self) -> str:
        """As it is recorded with what came of it."""
        return f"{self.key}.{self.asks}"

    def require_same(self, recorded: str) -> None:
        """Raises `Refused` if something else was asked under this key."""
        if recorded != str(self):
            raise another_request()


async def ticket_of(request: Request) -> Ticket | None:
    """None if it has no key."""
    if not (key := key_of(request)):
        return None
    asks = request.headers.get(WORK_SESSION, "").encode() + b"\n" + await request.body()
    return Ticket(_hash(f"{request.url.path} {key}".encode()), _hash(asks))


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:20]
