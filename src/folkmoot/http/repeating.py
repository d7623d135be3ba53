"""A request that comes again under its `Idempotency-Key` gets the answer that it had, and does nothing twice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from folkmoot.http.problems import Refused

HEADER = "Idempotency-Key"
LONGEST = 200
"""Characters of a key."""
KEPT = 10_000
"""Answers; the oldest are forgotten first."""
T = TypeVar("T")


def another_request() -> Refused:
    return Refused(422, f"this {HEADER} was used for another request; take a new one")


def key_of(request: Request) -> str:
    """Empty if it has none."""
    key = request.headers.get(HEADER, "")
    if len(key) > LONGEST or not key.isprintable():
        raise Refused(400, f"an {HEADER} has at most {LONGEST} characters, all of them printable")
    return key


@dataclass
class _Kept:
    request: str
    """What was asked, by hash."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    answer: Any = None


class Repeats:
    """The answers that were given under a key. What failed is not kept: it may be tried again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def answer(
        self, request: Request, content: bytes, make: Callable[[], Awaitable[Response]]
    ) -> Response:
        if not (key := key_of(request)):
            return await make()
        asked = sha256(f"{request.url.path}?{request.url.query}\n".encode() + content).hexdigest()
        return await self.once(key, asked, make)

    async def once(self, key: str, asked: str, make: Callable[[], Awaitable[T]]) -> T:
        """What was made under this key, for whoever asks the same; raises `Refused` for others."""
        kept = self._kept.setdefault(key, _Kept(asked))
        if kept.request != asked:
            raise another_request()
        async with kept.lock:  # whoever comes meanwhile waits for the first
            if kept.answer is None:
                kept.answer = await self._made(key, make)
        made: T = kept.answer
        return made

    async def _made(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        try:
            made = await make()
        except BaseException:
            self._kept.pop(key, None)
            raise
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return made
