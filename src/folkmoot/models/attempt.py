"""One attempt over HTTP, whatever the wire format: in one piece, or as a stream when somebody listens."""

from __future__ import annotations

from typing import Protocol

from folkmoot.domain.message import Answer
from folkmoot.models.http import Endpoint
from folkmoot.ports import Hear


class Hearing(Protocol):
    """An answer that comes in pieces."""

    def take(self, data: bytes, /) -> bool: ...

    def answer(self) -> Answer: ...


class Reply(Protocol):
    """How a wire format's answers are read: its `…_reply` module."""

    def whole(self, endpoint: Endpoint, body: bytes, /) -> Answer: ...

    def Heard(self, endpoint: Endpoint, hear: Hear, /) -> Hearing: ...


async def attempt(endpoint: Endpoint, reply: Reply, body: bytes, hear: Hear | None) -> Answer:
    if hear is None:
        return reply.whole(endpoint, await endpoint.ask(body))
    heard = reply.Heard(endpoint, hear)
    rest = await endpoint.listen(body, heard.take)
    if not rest:
        return heard.answer()
    answer = reply.whole(endpoint, rest)
    if answer.message.text:
        hear(answer.message.text)
    return answer
