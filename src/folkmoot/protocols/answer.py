"""The answer to a chat client: whole, or streamed while its run goes on, as server-sent events of one wire.

The streamed answer is the report and nothing else. It is sent as a model writes it where that text is certain to be the
report (`session/decide.py`), otherwise when the run is over. Until then the client gets lines of progress.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec
from folkmoot.errors import FolkmootError
from folkmoot.http.chat_errors import NO_RETRY, ChatError, as_chat_error
from folkmoot.http.house import house_of
from folkmoot.http.stream.event_source import EventStream, client_gone
from folkmoot.protocols.chat_request import json_response, vision_of, work_session_of
from folkmoot.protocols.chat_runs import ChatRuns
from folkmoot.protocols.conversation import ChatMessage, ChatRequest, read_conversation
from folkmoot.protocols.reply import AwaitedRun, ChatReply
from folkmoot.views.timeline import progress_line

_CATCH_UP = 5.0
"""Seconds that the progress may need to catch up with a run that is over."""
_PIECE = 400
"""Characters of the answer in one message."""
_log = logging.getLogger(__name__)


class ChatWire(Protocol):
    """How one kind of client is answered; each part of a stream is made of whole messages."""

    alive: bytes
    """A heartbeat."""

    def whole(self, reply: ChatReply) -> dict[str, Any]:
        """The answer that is not streamed."""

    def start(self) -> Iterable[bytes]: ...

    def progress(self, line: str) -> Iterable[bytes]:
        """What happens, before the first text."""

    def text(self, piece: str) -> Iterable[bytes]: ...

    def end(self, reply: ChatReply) -> Iterable[bytes]:
        """All that follows the text."""

    def fail(self, error: ChatError) -> Iterable[bytes]: ...


def conversation_with(
    request: Request,
    agent: Agent,
    messages: Sequence[ChatMessage],
    tools: Iterable[ToolSpec],
    metadata: Mapping[str, str] | None = None,
    *,
    alone: bool = True,
) -> ChatRequest:
    vision = vision_of(house_of(request).moot, agent)
    asked = read_conversation(agent.file, agent.id, messages, alone=alone, vision=vision)
    return replace(asked, tools=tuple(tools), work_session=work_session_of(request, metadata))


async def answer(
    request: Request, asked: ChatRequest, wire_for: Callable[[AwaitedRun], ChatWire], *, stream: bool | None
) -> Response:
    runs = await ChatRuns.of(request)
    awaited = await runs.start(asked, surely=bool(stream))
    wire = wire_for(awaited)
    if stream:
        return ChatStream(runs, awaited, wire)
    reply = await runs.reply_unless_gone(awaited, request.receive)
    if reply.failure:
        raise reply.failure
    return json_response(wire.whole(reply))


class ChatStream(EventStream):
    def __init__(self, runs: ChatRuns, awaited: AwaitedRun, wire: ChatWire) -> None:
        super().__init__(runs.house.clock)
        self._runs, self._awaited, self._wire = runs, awaited, wire
        self.alive = wire.alive
        self._text = StreamedText()
        self._writing = asyncio.Lock()
        """Messages that belong together are sent together."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.open(send)
        sending, gone = asyncio.create_task(self._send_all()), asyncio.create_task(client_gone(receive))
        heartbeat = asyncio.create_task(self.beat())
        try:
            await asyncio.wait({sending, gone, heartbeat}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() or sending.exception():  # the client has gone, or takes nothing any more
                await self._runs.cancel(self._awaited)
        finally:
            for task in (sending, gone, heartbeat):
                task.cancel()
            await asyncio.gather(sending, gone, heartbeat, return_exceptions=True)

    async def _send_all(self) -> None:
        try:
            await self._write(self._wire.start())
            reply = await self._reply()
            if reply.failure:
                raise reply.failure
            rest = self._text.rest(reply, self._runs.page)
            for start in range(0, len(rest), _PIECE):
                await self._write(self._wire.text(rest[start : start + _PIECE]))
            await self._write(self._wire.end(reply))
        except FolkmootError as error:
            await self._write(self._wire.fail(as_chat_error(error)))
        except TimeoutError:
            raise
        except Exception:
            _log.exception("a stream broke off: run %s", self._awaited.run)
            surprise = ChatError(500, "something went wrong here; the log of the server says what")
            await self._write(self._wire.fail(surprise))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _reply(self) -> ChatReply:
        """When there is one; meanwhile the client gets progress, and then text."""
        reply = asyncio.create_task(self._runs.reply(self._awaited))
        progress, text = asyncio.create_task(self._send_progress()), asyncio.create_task(self._send_text())
        try:
            await asyncio.wait({reply, text}, return_when=asyncio.FIRST_COMPLETED)
            if text.done():  # it failed: after missing text no other may follow
                text.result()
            await asyncio.wait({progress}, timeout=_CATCH_UP)  # whoever is too slow for it gets the end
            async with self._writing:  # whatever was begun has gone out
                progress.cancel()
                text.cancel()
            return await reply
        finally:
            for task in (reply, progress, text):
                task.cancel()
            await asyncio.gather(reply, progress, text, return_exceptions=True)

    async def _send_progress(self) -> None:
        async for draft in self._runs.progress(self._awaited):
            if line := progress_line(draft):
                await self._write(self._progress(line))

    def _progress(self, line: str) -> Iterator[bytes]:
        if not self._text.sent:
            yield from self._wire.progress(line)

    async def _send_text(self) -> None:
        async for text in self._runs.texts(self._awaited):
            await self._write(self._more(text))

    def _more(self, text: str) -> Iterator[bytes]:
        if new := self._text.more(text):
            yield from self._wire.text(new)

    async def write(self, body: bytes, *, more: bool = True) -> None:
        async with self._writing:
            await super().write(body, more=more)

    async def _write(self, messages: Iterable[bytes]) -> None:
        async with self._writing:
            for body in messages:
                await super().write(body)


def event(data: Any, name: str = "") -> bytes:
    """One message; JSON has no line ends of its own."""
    head = b"event: %b\n" % name.encode() if name else b""
    return b"%bdata: %b\n\n" % (head, msgspec.json.encode(data))


class StreamedText:
    def __init__(self) -> None:
        self.sent = ""

    def more(self, text: str) -> str:
        """What follows the text that the client has. A blank answer is none, and an attempt after one that broke off
        adds nothing before it has come as far in the same words."""
        if not text.strip() or not text.startswith(self.sent):
            return ""
        new, self.sent = text[len(self.sent) :], text
        return new

    def rest(self, reply: ChatReply, page: str) -> str:
        """What is missing in the end. Raises `ChatError` if the text that the client has is not the answer; `page` is
        the address of this server."""
        if not reply.text.startswith(self.sent):
            raise ChatError(
                500,
                "what was streamed is not the answer: the model broke off and then said something else."
                f" Run {reply.run} is {reply.status}; what it came to stands at {page}runs/{reply.run}, and"
                f" `folkmoot runs show {reply.run}` shows it",
                code="answer_changed",
                headers=NO_RETRY,
            )
        return reply.text[len(self.sent) :]
