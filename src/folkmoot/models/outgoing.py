"""What a provider is sent: conversations in its own bytes, each message encoded once, and tools that it is held to.

A conversation only grows at its end, so its bytes do too. The next request finds them by its session and adds
what is new; a conversation that is another one than before is simply encoded anew. Of images, a model is shown those
that a user attached, and those that tools gave where its provider sees them.

A strict tool is sent closed: objects have no other properties than those named. What fits the closed schema fits the
declared one, never the other way round. A schema that cannot be closed is sent as it is.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.message import Answer, Message, ToolCall, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.part import Part
from folkmoot.domain.providers import BUILT_IN, address_of, vendor_of
from folkmoot.domain.settings import Provider
from folkmoot.errors import ModelFailed
from folkmoot.ports import Request

MOST_CONVERSATIONS = 1024
MOST_BYTES = 32 * 1024 * 1024
MOST_TOOL_LISTS = 256

NO_RESULT = "(no result was recorded for this call)"

encode = msgspec.json.Encoder().encode

_LONGEST_ID = 40
_SHOWN_BACK = 2_000
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Transcript:
    """One conversation so far. `add` of an adapter writes into it."""

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.wire = bytearray()
        """Everything but the brackets at its end."""
        self.speaker = ""
        """Whose message is still open, where a provider wants turns to alternate."""
        self.system: list[bytes] = []
        """The opening system messages as JSON strings, where a provider wants them apart."""
        self.awaited: list[tuple[str, str]] = []
        """Calls without a result yet: our id, and the one on the wire."""
        self.turn_end = 0
        """Where the wire ended when the model was last asked, where a provider wants a mark there."""
        self.images: list[dict[str, object]] = []
        """What tools gave beside text, where a provider takes it only behind all results."""
        self.contents: Mapping[str, bytes] = {}
        """What the parts of messages hold, by artifact; only while something is added."""
        self._ids: set[str] = set()

    def write(self, piece: bytes) -> None:
        if self.wire:
            self.wire += b","
        self.wire += piece

    def id_for(self, call: ToolCall, sound: re.Pattern[str]) -> str:
        """An id that the provider takes and that no other call of the conversation has."""
        id = (
            call.id
            if sound.fullmatch(call.id)
            else f"call_{blake2b(call.id.encode(), digest_size=8).hexdigest()}"
        )
        number = len(self._ids)
        while id in self._ids:
            id, number = f"{id[: _LONGEST_ID - 8]}_{number}", number + 1
        self._ids.add(id)
        self.awaited.append((call.id, id))
        return id

    def answered(self, id: str) -> str:
        """The id on the wire of the first call by this id that waits for its result; empty if none does."""
        for position, (ours, wire) in enumerate(self.awaited):
            if ours == id:
                del self.awaited[position]
                return wire
        return ""

    def unanswered(self) -> Iterator[str]:
        """The ids on the wire of all calls that wait for a result; they wait no more."""
        while self.awaited:
            yield self.awaited.pop(0)[1]


Add = Callable[[Transcript, Message], None]
"""Writes one message at the end of a transcript."""


class Transcripts:
    """The conversations under way; those that were not asked for longest make room."""

    def __init__(self, add: Add, *, most: int = MOST_CONVERSATIONS, most_bytes: int = MOST_BYTES) -> None:
        self._add = add
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Transcript] = OrderedDict()
        self._bytes = 0

    def of(
        self, session: str, messages: tuple[Message, ...], contents: Mapping[str, bytes] | None = None
    ) -> Transcript:
        transcript = self._kept.pop(session, None)
        if transcript is not None:
            self._bytes -= len(transcript.wire)
        if transcript is None or messages[: len(transcript.messages)] != transcript.messages:
            transcript = Transcript()
        transcript.contents = contents or {}
        for message in messages[len(transcript.messages) :]:
            self._add(transcript, message)
        transcript.messages, transcript.contents = messages, {}
        self._keep(session, transcript)
        return transcript

    def _keep(self, session: str, transcript: Transcript) -> None:
        self._kept[session] = transcript
        self._bytes += len(transcript.wire)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.wire)


class ToolLists:
    """Tools as a provider wants them, encoded once for each list of the same tools."""

    def __init__(self, form: Callable[[ToolSpec, bool], object]) -> None:
        """`form` writes a tool, strictly if told so."""
        self._form = form
        self._kept: dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], msgspec.Raw]] = {}

    def of(self, tools: tuple[ToolSpec, ...], strict: bool = False) -> msgspec.Raw:
        key = (strict, *map(id, tools))
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_TOOL_LISTS:
                del self._kept[next(iter(self._kept))]
            # The tools are kept too: as long as they live, nothing else can have their ids.
            kept = self._kept[key] = (
                tools,
                msgspec.Raw(encode([self._form(tool, strict) for tool in tools])),
            )
        return kept[1]


def data_url(part: Part, content: bytes) -> str:
    return f"data:{part.media};base64,{b64encode(content).decode()}"


def not_blank(text: str) -> str:
    """Providers refuse a text that is blank."""
    return text if text.strip() else "(empty)"


def stray_result(text: str) -> str:
    """A result to no call is still worth reading, but no provider takes it as a result."""
    return f"Result of a tool call: {text}"


def wire_call(call: ToolCall) -> tuple[str, dict[str, object]]:
    """The tool, which a model may have called by a name that its provider would not take back; and its arguments,
    always an object: what a model wrote instead is shown back to it inside one."""
    tool = call.tool if _TOOL_NAME.fullmatch(call.tool) else wire_name(call.tool) or "unknown"
    return tool, {"malformed": call.malformed[:_SHOWN_BACK]} if call.malformed else call.arguments


_SEEING = ("openai", "anthropic", "google")


def sight_of(provider: Provider) -> bool | None:
    """What it says itself; absent, a provider's own host sees, and of any other nobody knows."""
    if provider.images is not None:
        return provider.images
    own = BUILT_IN[vendor_of(provider)] if vendor_of(provider) in _SEEING else None
    return True if own and address_of(provider) == address_of(own) else None


def visible(messages: tuple[Message, ...], sees: bool | None, provider: str) -> tuple[Message, ...]:
    """The same messages, without what tools gave unless the provider surely sees it: the text says where it is kept.

    Raises `ModelFailed` for what a user attached in vain.
    """
    carrying = [message for message in messages if message.parts]
    if sees or not carrying:
        return messages
    attached = (part for message in carrying if message.role == "user" for part in message.parts)
    if sees is False and any(part.is_image for part in attached):
        raise ModelFailed(f"{provider} takes no images: folkmoot.yaml says so", retryable=False)
    return tuple(
        replace(message, parts=()) if message.role == "tool" and message.parts else message
        for message in messages
    )


PLAIN = frozenset(
    "type properties required additionalProperties items anyOf enum const description title".split()
)
"""Words of JSON Schema that every provider with strict tools understands."""

_SAYS_NOTHING = frozenset(("$schema", "$comment", "default", "examples"))
_REFUSALS = (400, 422)


class Strictness:
    """Which models of a provider refuse strict tools: found out by asking, and kept as long as the process lives."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def attempt(self, request: Request, ask: Callable[[bool], Awaitable[Answer]]) -> Answer:
        """One attempt; `ask` is told whether tools may be strict. A refusal costs nothing, so it is asked again."""
        if request.model in self._refused or not any(tool.strict for tool in request.tools):
            return await ask(False)
        try:
            return await ask(True)
        except ModelFailed as error:
            if error.status not in _REFUSALS:
                raise
        answer = await ask(False)
        self._refused.add(request.model)
        return answer


def arguments_schema(
    tool: ToolSpec,
    strict: bool,
    words: frozenset[str] = PLAIN,
    *,
    key: str = "parameters",
    optional: bool = False,
) -> dict[str, Any]:
    """The arguments of a tool, under the key that a provider has for their schema."""
    closed = closed_arguments(tool, words, optional=optional) if strict else None
    if closed:
        return {key: closed, "strict": True}
    return {key: tool.parameters or {"type": "object", "properties": {}}}


def closed_arguments(
    tool: ToolSpec, words: frozenset[str] = PLAIN, *, optional: bool = False
) -> dict[str, Any] | None:
    """A strict tool's schema, closed; None if it cannot be, or need not.

    `optional`: the provider lets properties be left out. Optional arguments that are open, such as metadata, are
    not offered: they are the runtime's own, and worth less than a report that fits.
    """
    if not tool.strict:
        return None
    properties, required = tool.parameters["properties"], tool.parameters["required"]
    every = {name: _closed(schema, words, optional) for name, schema in properties.items()}
    kept = {name: schema for name, schema in every.items() if schema is not None}
    if not kept.keys() >= set(required):
        return None
    return {
        "type": "object",
        "properties": kept,
        "required": required if optional else list(kept),
        "additionalProperties": False,
    }


def _closed(schema: Any, words: frozenset[str], optional: bool) -> dict[str, Any] | None:
    """None where it leaves something open, or says it in a word that the provider does not know."""
    if not isinstance(schema, dict):
        return None
    said = {word: value for word, value in schema.items() if word not in _SAYS_NOTHING}
    if not said.keys() <= words or not said.keys() & {"type", "anyOf"}:
        return None
    kinds = said.get("type", ())
    if "object" in ((kinds,) if isinstance(kinds, str) else kinds):
        return _closed_object(said, words, optional)
    if "anyOf" in said:
        said["anyOf"] = [_closed(each, words, optional) for each in said["anyOf"]]
        return None if None in said["anyOf"] else said
    if "items" in said:
        said["items"] = _closed(said["items"], words, optional)
        return None if said["items"] is None else said
    return None if "array" in kinds else said


def _closed_object(said: dict[str, Any], words: frozenset[str], optional: bool) -> dict[str, Any] | None:
    """An optional property is never made a required one: a model would have to invent it."""
    properties, required = said.get("properties"), said.get("required", [])
    if (
        not properties
        or said.get("additionalProperties", False) is not False
        or {"anyOf", "items"} & said.keys()
    ):
        return None
    closed = {name: _closed(schema, words, optional) for name, schema in properties.items()}
    demanded = set(required)
    if None in closed.values() or not (demanded <= closed.keys() and (optional or demanded == closed.keys())):
        return None
    return {**said, "properties": closed, "required": required, "additionalProperties": False}
