"""The messages API: Anthropic's wire format.

Thinking: models since 4.6 think adaptively, and `reasoning` turns that on with its effort. Older models think by a
budget, which is `reasoningTokens`; `reasoning` alone sends them nothing. What a model thought goes back to it
unchanged, each block where it stood: an older model refuses the results of calls without the thoughts that led to
them. So in a turn that began without any (another model began it, or a budget left no room) it is not asked to think.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from folkmoot.domain.message import Answer, Message, Thought, ToolSpec, Usage
from folkmoot.domain.part import TEXT, Part
from folkmoot.domain.text import storable
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.incoming import count, counted, joined, text_of, tool_call
from folkmoot.models.outgoing import (
    NO_RESULT,
    Transcript,
    arguments_schema,
    encode,
    not_blank,
    stray_result,
    wire_call,
)
from folkmoot.models.wire import AnswerStream, WireModel
from folkmoot.ports import Hear, Request

PATH = "/messages"

_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MARK = b',"cache_control":{"type":"ephemeral"}'
_TURN = b']},{"role":"user","content":['
_GO_ON = b'{"type":"text","text":"Go on."}'
_ADAPTIVE = {"type": "adaptive"}
_EFFORT = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_LEAST_THINKING = 1024
_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST_ADAPTIVE = (4, 6)
_BY_BUDGET = re.compile(r"claude-(?:instant|v?[123])|(?!.*claude)")


def headers(key: str) -> dict[str, str]:
    version = {"anthropic-version": "2023-06-01"}
    return {**version, "x-api-key": key} if key else version


class Anthropic(WireModel):
    """One provider that speaks the messages API."""

    def __init__(self, endpoint: ModelEndpoint, sees: bool | None = True) -> None:
        super().__init__(endpoint, sees, read_message, MessageStream, _tool)

    def body(self, request: Request, *, stream: bool, strict: bool = False) -> bytes:
        transcript = self._transcript(request)
        tuning = request.tuning
        mark = _MARK if tuning.caching == "full" else b""
        thinking, effort = _thinking(request)
        tools = self._tool_list(request, strict)
        body = {
            "model": request.model,
            "max_tokens": request.max_output,
            "messages": _closed(transcript, mark),
            "system": _system(transcript, mark) if transcript.system else None,
            "tools": _marked(tools, mark) if tools else None,
            "temperature": None if thinking else tuning.temperature,
            "top_p": None if thinking else tuning.top_p,
            "top_k": None if thinking else tuning.top_k,
            "thinking": thinking,
            "output_config": effort,
            "stream": stream or None,
        }
        return encode({key: value for key, value in body.items() if value is not None})

    def _add(self, transcript: Transcript, message: Message) -> None:
        """Turns alternate: what one side says in a row becomes one message of several blocks, results first."""
        if message.role == "system" and not transcript.wire:
            transcript.system.append(encode(not_blank(message.text)))
            return
        if message.role == "tool":
            images = [file_block(part, transcript.contents) for part in message.parts]
            _block(transcript, "user", _result(transcript.answered(message.answers), message.text, images))
            return
        for id in transcript.unanswered():
            _block(transcript, "user", _result(id, NO_RESULT))
        if message.role != "assistant":
            for part in message.parts:
                if part.is_image:
                    _block(transcript, "user", {"type": "text", "text": f"{part.name}:"})
                _block(transcript, "user", file_block(part, transcript.contents))
            _block(transcript, "user", {"type": "text", "text": not_blank(message.text)})
            return
        said: list[object] = [{"type": "text", "text": message.text}] if message.text.strip() else []
        for call in message.calls:
            name, arguments = wire_call(call)
            id = transcript.id_for(call, _IDS)
            said.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
        for block in with_thoughts(said, message.thoughts):
            _block(transcript, "assistant", block)


def _block(transcript: Transcript, speaker: str, block: object) -> None:
    if speaker == transcript.speaker:
        transcript.write(encode(block))
        return
    if speaker == "assistant":
        transcript.turn_end = len(transcript.wire)
    if transcript.speaker:
        transcript.wire += b"]}"
    elif speaker != "user":
        transcript.wire += b'{"role":"user","content":[%b]}' % _GO_ON  # the user always begins
    transcript.write(b'{"role":"%b","content":[%b' % (speaker.encode(), encode(block)))
    transcript.speaker = speaker


def _closed(transcript: Transcript, mark: bytes) -> Raw:
    """The messages with their brackets; a mark says up to where a cache may keep them.

    One is at the end, for the next turn, and one where the turn before had it: a cache is looked for only in the
    last twenty blocks before a mark, and many calls at once are more.
    """
    wire, turn = transcript.wire, transcript.turn_end - 1
    parts: list[bytes | bytearray] = [
        b"[",
        *([wire[:turn], mark, wire[turn:]] if mark and turn > 0 else [wire]),
    ]
    if transcript.awaited:
        parts += (_TURN, b",".join(encode(_result(id, NO_RESULT)) for _, id in transcript.awaited))
    elif transcript.speaker != "user":
        parts += (_TURN if transcript.wire else _TURN[3:], _GO_ON)
    parts[-1] = parts[-1][:-1]
    return Raw(b"".join((*parts, mark, b"}]}]")))


def _system(transcript: Transcript, mark: bytes) -> Raw:
    blocks = [b'{"type":"text","text":%b}' % text for text in transcript.system]
    return _marked(Raw(b"[%b]" % b",".join(blocks)), mark)


def _marked(blocks: Raw, mark: bytes) -> Raw:
    """A list of objects with the mark on its last."""
    return Raw(b"%b%b}]" % (bytes(blocks)[:-2], mark)) if mark else blocks


def _result(id: str, text: str, images: Sequence[object] = ()) -> object:
    if not id:
        return {"type": "text", "text": stray_result(text)}
    said = [{"type": "text", "text": not_blank(text)}, *images] if images else not_blank(text)
    return {"type": "tool_result", "tool_use_id": id, "content": said}


def _tool(tool: ToolSpec, strict: bool) -> object:
    schema = arguments_schema(tool, strict, key="input_schema", optional=True)
    return {"name": tool.name, "description": tool.description, **schema}


def _thinking(request: Request) -> tuple[dict[str, Any] | None, dict[str, str] | None]:
    """The two settings that turn thinking on, or nothing."""
    tuning = request.tuning
    if _is_adaptive(request.model):
        effort = _EFFORT.get(tuning.reasoning or "")
        return (_ADAPTIVE, {"effort": effort}) if effort else (None, None)
    budget = min(tuning.reasoning_tokens or 0, request.max_output - 1)
    if budget < _LEAST_THINKING or began_without_a_thought(request.messages):
        return None, None
    return {"type": "enabled", "budget_tokens": budget}, None


def _is_adaptive(model: str) -> bool:
    """Opus, Sonnet and Haiku since 4.6, and every family that came after them."""
    if version := _VERSION.search(model):
        return (int(version[1]), int(version[2] or 0)) >= _FIRST_ADAPTIVE
    return not _BY_BUDGET.match(model)


def file_block(part: Part, contents: Mapping[str, bytes]) -> dict[str, Any]:
    content = contents[part.artifact]
    if part.media == TEXT:
        source = {"type": "text", "media_type": TEXT, "data": content.decode()}
    else:
        source = {"type": "base64", "media_type": part.media, "data": b64encode(content).decode()}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "title": part.name, "source": source}


def with_thoughts(said: list[object], thoughts: Sequence[Thought]) -> list[object]:
    """Each where it stood, unchanged: what is signed is refused otherwise. No message may end with one that led to
    nothing, because the model ran out of tokens."""
    blocks: list[object] = []
    for place, block in enumerate(said):
        blocks += [*(_thought_block(each) for each in thoughts if each.at == place), block]
    return blocks


def _thought_block(thought: Thought) -> object:
    if thought.kind == "redacted_thinking":
        return {"type": thought.kind, "data": thought.sealed}
    return {"type": "thinking", "thinking": thought.text, "signature": thought.sealed}


def began_without_a_thought(messages: Sequence[Message]) -> bool:
    """Whether the turn under way, which lasts until the user speaks again, began with a call out of the blue."""
    turn = list(takewhile(lambda message: message.role != "user", reversed(messages)))
    first = next((message for message in reversed(turn) if message.role == "assistant"), None)
    return bool(first and first.calls and not any(thought.at == 0 for thought in first.thoughts))


def read_message(endpoint: ModelEndpoint, body: bytes) -> Answer:
    """An answer in one piece."""
    message = endpoint.read(body, _REPLY)
    if message.content is None:
        raise endpoint.unreadable(body, "it has no content")
    return _answer(message.content, message.stop_reason, message.usage)


_PIECES = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
"""The field of a delta that goes on with its block."""


class MessageStream(AnswerStream):
    """An answer that comes block by block."""

    def __init__(self, endpoint: ModelEndpoint, hear: Hear) -> None:
        super().__init__(endpoint, hear)
        self._blocks: dict[str, tuple[_Block, list[str]]] = {}
        self._usage = _MessageUsage()

    def take(self, data: bytes) -> bool:
        event = self._endpoint.read(data, _REPLY, piece=True)
        if event.message:
            self._usage = event.message.usage or self._usage
        elif event.content_block:
            self._start(str(event.index), event.content_block)
        elif event.delta:
            self._add(str(event.index), event.delta)
            self._stop = event.delta.stop_reason or self._stop
        if event.usage:
            self._usage = event.usage.over(self._usage)
        self._done = self._done or event.type == "message_stop"
        return self._done

    def _start(self, index: str, block: _Block) -> None:
        self._blocks[index] = (block, [])
        self._add(index, _Block(f"{block.type}_delta", block.text, block.thinking))

    def _add(self, index: str, delta: _Block) -> None:
        if delta.type == "signature_delta" and index in self._blocks:
            block, _ = self._blocks[index]
            block.signature = text_of(block.signature) + text_of(delta.signature)
        field = _PIECES.get(str(delta.type), "")
        if piece := text_of(getattr(delta, field, "")):
            _, pieces = self._blocks.setdefault(index, (_Block(type="text"), []))
            pieces.append(piece)
            if field == "text":
                self._hear(piece)

    def whole(self) -> Answer:
        blocks = [_filled(block, pieces) for block, pieces in self._blocks.values()]
        return _answer(blocks, self._stop, self._usage)


def _filled(block: _Block, pieces: list[str]) -> _Block:
    """As if it had come in one piece."""
    match block.type:
        case "text":
            block.text = "".join(pieces)  # half a character may go on in the next block
        case "thinking":
            block.thinking = joined(pieces)
        case "tool_use" if pieces:
            block.input = joined(pieces)
    return block


def _answer(blocks: list[_Block], stop: Any, usage: _MessageUsage | None) -> Answer:
    text, calls, thoughts = "", [], []
    for block in blocks:
        match block.type:
            case "text":
                text += text_of(block.text)
            case "tool_use":
                calls.append(tool_call(block.id, block.name, block.input))
            case "thinking" | "redacted_thinking":
                thoughts.append(_thought(block, at=len(calls) + bool(text.strip())))
    return Answer(
        message=Message("assistant", joined([text]), tuple(calls), thoughts=tuple(thoughts)),
        usage=_counted(usage) if usage else Usage(),
        stop=storable(text_of(stop)),
    )


def _thought(block: _Block, at: int) -> Thought:
    sealed = block.data if block.type == "redacted_thinking" else block.signature
    return Thought(block.type, storable(text_of(block.thinking)), storable(text_of(sealed)), at)


def _counted(usage: _MessageUsage) -> Usage:
    """Anthropic counts what a cache took or gave apart from the rest; we count all of it as input."""
    cached, written = count(usage.cache_read_input_tokens), count(usage.cache_creation_input_tokens)
    into = count(usage.input_tokens) + cached + written
    return counted(into, count(usage.output_tokens), cached, written)


class _MessageUsage(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None

    def over(self, earlier: _MessageUsage) -> _MessageUsage:
        """Later counts replace earlier ones; what is not counted again stays."""
        counts = zip(astuple(self), astuple(earlier), strict=True)
        return _MessageUsage(*(before if now is None else now for now, before in counts))


class _Block(msgspec.Struct):
    """A block of an answer, or what goes on with one."""

    type: Any = ""
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    partial_json: Any = None
    signature: Any = None
    data: Any = None
    stop_reason: Any = None


class _Reply(msgspec.Struct):
    """An answer in one piece, or one event of a stream."""

    type: Any = ""
    content: list[_Block] | None = None
    stop_reason: Any = None
    index: Any = None
    message: _Reply | None = None
    content_block: _Block | None = None
    delta: _Block | None = None
    usage: _MessageUsage | None = None
    error: Any = None


_REPLY = msgspec.json.Decoder(_Reply)
