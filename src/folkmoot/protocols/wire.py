"""What the wires of chat clients share: reading a request, whose models are our agents, as far as it matters here; and
the answer: whole, or streamed while its run goes on, as server-sent events of one wire.

The streamed answer is the report and nothing else. It is sent as a model writes it where that text is certain to be the
report (`session/decide.py`), otherwise when the run is over. Until then the client gets lines of progress.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.providers import BUILT_IN
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.http.problems import NO_RETRY, SURPRISE, ChatError, HttpError, as_chat_error
from folkmoot.http.requests import parse_body
from folkmoot.http.state import get_server_state
from folkmoot.http.stream.event_source import EventStream, wait_for_disconnect, wait_for_first
from folkmoot.models.outgoing import sight_of
from folkmoot.orchestration.kit import list_client_facing
from folkmoot.protocols.answers import AwaitedRun, ChatReply
from folkmoot.protocols.chat_runs import WORK_SESSION, ChatRuns
from folkmoot.protocols.content import PLACE
from folkmoot.protocols.conversation import ChatMessage, ChatRequest, Role, Vision, read_conversation
from folkmoot.protocols.runs import name_agents
from folkmoot.views.timeline import progress_line

T = TypeVar("T", bound=msgspec.Struct)
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MISSING = re.compile(r"missing required field `(\w+)`")
_SESSION = re.compile("ws_[A-Za-z0-9_-]+")
_CATCH_UP = 5.0
"""Seconds that the progress may need to catch up with a run that is over."""
_PIECE = 400
"""Characters of the answer in one message."""
_log = logging.getLogger(__name__)


async def read_body(request: Request, type: type[T]) -> T:
    """Raises `ChatError` that names the wrong field."""
    try:
        return parse_body(await request.body(), type)
    except HttpError as error:
        place, missing = PLACE.search(str(error)), _MISSING.search(str(error))
        names = [found[1] for found in (place, missing) if found]
        raise ChatError(error.status, str(error), param=".".join(names) or None) from error


def json_response(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


def list_models(moot: Folkmoot) -> dict[str, Agent]:
    """By id, or by path where several agents have the same id."""
    return name_agents(moot.graph.agents.values(), spell=str)


def find_model(moot: Folkmoot, model: str) -> Agent:
    """An agent by its name as a model, or by its file. Raises `ChatError`."""
    known = list_models(moot)
    if agent := known.get(model):
        return agent
    try:
        return moot.agent(model)
    except WrongUse as error:
        words = f"there is no model {model!r}; the models here are the agents: {', '.join(known)}"
        raise ChatError(404, words, param="model", code="model_not_found") from error


def model_name(moot: Folkmoot, file: str) -> str:
    """Of an agent; its file, if it is not in the project any more."""
    return next((name for name, agent in list_models(moot).items() if agent.file == file), file)


def vision_of(moot: Folkmoot, agent: Agent) -> Vision:
    """Of all agents that may come to speak with the client: no images, if one of them surely takes none; files for half
    of the smallest context window."""
    agents = [*list_client_facing(moot.graph, agent)]
    windows = [choice.context_window for one in agents for choice in one.models]
    if not windows:
        return Vision()
    providers = {**BUILT_IN, **moot.graph.settings.providers}
    images: bool | None = True
    for one in agents:
        takes = [
            sight_of(providers[choice.provider]) if choice.provider in providers else None
            for choice in one.models
        ]
        if takes and all(sees is False for sees in takes):
            return Vision(False, min(windows) // 2)
        images = images if all(takes) else None
    return Vision(images, min(windows) // 2)


def work_session_of(request: Request, metadata: Mapping[str, str] | None = None) -> str:
    """The one that the client names; empty if it names none."""
    named = request.headers.get(WORK_SESSION) or (metadata or {}).get("work_session", "")
    if named and not _SESSION.fullmatch(named):
        raise ChatError(400, f"{named!r} is no work session; their names begin with ws_", param="metadata")
    return named


def refuse_unsupported(reasons: Mapping[str, object], code: str = "unsupported_value") -> None:
    """Raise `ChatError` for the first field with a reason: it would be left undone without a word."""
    for param, reason in reasons.items():
        if reason:
            raise ChatError(400, str(reason), param=param, code=code)


def request_number(roles: Sequence[str]) -> int:
    """The number of the message that is the request: the last one, if it is the user's; -1 if there is none."""
    spoken = [number for number, role in enumerate(roles) if role not in ("system", "developer")]
    return spoken[-1] if spoken and roles[spoken[-1]] == "user" else -1


def role_of(role: str, place: str) -> Role:
    if role not in ROLES:
        raise ChatError(400, f"there is no role {role!r}; use {', '.join(ROLES)}", param=f"{place}.role")
    return ROLES[role]


def unix_seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())


class TypedOption(msgspec.Struct):
    type: str


def describe_unsupported(agent: Agent, wanted: TypedOption | None, choice: object) -> tuple[str, str]:
    """Why the format of the answer, and the choice of a tool, cannot be had."""
    given = {"text", "json_object"} if agent.output.format == "json" else {"text"}
    declared = f"the form of what {agent.id} reports is declared in its file ({agent.output.format}), not by who asks"
    return (
        declared if wanted and wanted.type not in given else "",
        "an agent chooses its tools itself; send `auto` or `none`"
        if choice not in (None, "auto", "none")
        else "",
    )


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


def build_chat_request(
    request: Request,
    agent: Agent,
    messages: Sequence[ChatMessage],
    tools: Iterable[ToolSpec],
    metadata: Mapping[str, str] | None = None,
    *,
    alone: bool = True,
) -> ChatRequest:
    vision = vision_of(get_server_state(request).moot, agent)
    asked = read_conversation(agent.file, agent.id, messages, alone=alone, vision=vision)
    return replace(asked, tools=tuple(tools), work_session=work_session_of(request, metadata))


async def answer_request(
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
        sent, *_ = await wait_for_first(self._send_all(), wait_for_disconnect(receive), self.beat())
        if sent is not None:  # the client has gone, or takes nothing any more
            await self._runs.cancel(self._awaited)

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
            surprise = ChatError(500, SURPRISE)
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


def encode_event(data: Any, name: str = "") -> bytes:
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
