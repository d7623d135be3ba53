"""Conversations in a provider's own bytes, kept from turn to turn so that each message is encoded once.

A conversation only grows at its end, so its bytes do too. The next request finds them by its session and adds
what is new; a conversation that is another one than before is simply encoded anew. Of images, a model is shown those
that a user attached, and those that tools gave where its provider sees them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from folkmoot.domain.message import Message, ToolCall, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.part import Part
from folkmoot.domain.providers import BUILT_IN, address_of, vendor_of
from folkmoot.domain.settings import Provider
from folkmoot.errors import ModelFailed

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

    def __init__(self, form: Callable[[ToolSpec], object]) -> None:
        self._form = form
        self._kept: dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], msgspec.Raw]] = {}

    def of(self, tools: tuple[ToolSpec, ...]) -> msgspec.Raw:
        key = tuple(map(id, tools))
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_TOOL_LISTS:
                del self._kept[next(iter(self._kept))]
            # The tools are kept too: as long as they live, nothing else can have their ids.
            kept = self._kept[key] = (tools, msgspec.Raw(encode([self._form(tool) for tool in tools])))
        return kept[1]


def data_url(part: Part, content: bytes) -> str:
    return f"data:{part.media};base64,{b64encode(content).decode()}"


def not_blank(text: str) -> str:
    """Providers refuse a text that is blank."""
    return text if text.strip() else "(empty)"


def stray_result(text: str) -> str:
    """A result to no call is still worth reading, but no provider takes it as a result."""
    return f"Result of a tool call: {text}"


def wire_tool(call: ToolCall) -> str:
    """A model may have called by a name that its provider would not take back."""
    return call.tool if _TOOL_NAME.fullmatch(call.tool) else wire_name(call.tool) or "unknown"


def wire_arguments(call: ToolCall) -> dict[str, object]:
    """Always an object: what a model wrote instead is shown back to it inside one."""
    return {"malformed": call.malformed[:_SHOWN_BACK]} if call.malformed else call.arguments


def wire_schema(tool: ToolSpec) -> dict[str, object]:
    return tool.parameters or {"type": "object", "properties": {}}


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
