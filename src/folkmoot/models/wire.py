"""What providers have in common that are asked over HTTP in a wire format of their own: `openai` and `anthropic`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from folkmoot.domain.message import Answer, Message, ToolSpec
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.incoming import whole_characters
from folkmoot.models.outgoing import Strictness, ToolLists, Transcript, Transcripts, visible
from folkmoot.ports import Hear, Request


class AnswerStream(ABC):
    """An answer that comes in pieces."""

    def __init__(self, endpoint: ModelEndpoint, hear: Hear) -> None:
        self._endpoint = endpoint
        self._hear = whole_characters(hear)
        self._stop: Any = None
        """Why the model stopped, as soon as it said so."""
        self._done = False

    @abstractmethod
    def take(self, data: bytes) -> bool:
        """One event; true when the answer is complete with it."""

    def answer(self) -> Answer:
        if not (self._done or self._stop):
            raise self._endpoint.broken_off()
        return self.whole()

    @abstractmethod
    def whole(self) -> Answer:
        """What was said so far."""


class WireModel(ABC):
    """One provider. A subclass says how requests are written, `read` and `stream` how its answers are read."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        sees: bool | None,
        read: Callable[[ModelEndpoint, bytes], Answer],
        stream: Callable[[ModelEndpoint, Hear], AnswerStream],
        tool: Callable[[ToolSpec, bool], object],
    ) -> None:
        """`sees` is what is known of the provider: see `sight_of`. `tool` writes a tool, strictly if told so."""
        self._endpoint = endpoint
        self._sees = sees
        self._read, self._stream = read, stream
        self._transcripts = Transcripts(self._add)
        self._tools = ToolLists(tool)
        self._strictness = Strictness()

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        def ask(strict: bool) -> Awaitable[Answer]:
            body = self.body(request, stream=hear is not None, strict=strict)
            return self._attempt(self._endpoint.within(request.trace), body, hear)

        return await self._strictness.attempt(request, ask)

    @abstractmethod
    def body(self, request: Request, *, stream: bool, strict: bool = False) -> bytes: ...

    @abstractmethod
    def _add(self, transcript: Transcript, message: Message) -> None:
        """Write one message at the end of a transcript."""

    def _tool_list(self, request: Request, strict: bool) -> Raw | None:
        return self._tools.of(request.tools, strict) if request.tools else None

    def _transcript(self, request: Request) -> Transcript:
        messages = visible(request.messages, self._sees, self._endpoint.provider)
        return self._transcripts.of(request.session, messages, request.contents)

    async def _attempt(self, endpoint: ModelEndpoint, body: bytes, hear: Hear | None) -> Answer:
        """In one piece, or as a stream when somebody listens."""
        if hear is None:
            return self._read(endpoint, await endpoint.ask(body))
        pieces = self._stream(endpoint, hear)
        rest = await endpoint.listen(body, pieces.take)
        if not rest:
            return pieces.answer()
        answer = self._read(endpoint, rest)
        if answer.message.text:
            hear(answer.message.text)
        return answer
