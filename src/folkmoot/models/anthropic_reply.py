"""What comes back from the messages API, in one piece or block by block; both give the same answer."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.message import Answer, Message, Thought, Usage
from folkmoot.domain.text import storable
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.incoming import (
    count,
    counted,
    joined,
    text_of,
    tool_call,
)
from folkmoot.models.wire import AnswerStream
from folkmoot.ports import Hear


def read_message(endpoint: ModelEndpoint, body: bytes) -> Answer:
    """An answer in one piece."""
    message = endpoint.read(body, _MESSAGE)
    if message.content is None:
        raise endpoint.unreadable(body, "it has no content")
    return _answer(message.content, message.stop_reason, message.usage)


class MessageStream(AnswerStream):
    """An answer that comes block by block."""

    def __init__(self, endpoint: ModelEndpoint, hear: Hear) -> None:
        super().__init__(endpoint, hear)
        self._blocks: dict[str, tuple[_Block, list[str]]] = {}
        self._usage = _MessageUsage()

    def take(self, data: bytes) -> bool:
        event = self._endpoint.read(data, _EVENT, piece=True)
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
        if block.type == "text":
            self._piece(index, text_of(block.text), aloud=True)
        elif block.type == "thinking":
            self._piece(index, text_of(block.thinking), aloud=False)

    def _add(self, index: str, delta: _Delta) -> None:
        if delta.type == "text_delta":
            self._piece(index, text_of(delta.text), aloud=True)
        elif delta.type == "input_json_delta":
            self._piece(index, text_of(delta.partial_json), aloud=False)
        elif delta.type == "thinking_delta":
            self._piece(index, text_of(delta.thinking), aloud=False)
        elif delta.type == "signature_delta" and index in self._blocks:
            block, _ = self._blocks[index]
            block.signature = text_of(block.signature) + text_of(delta.signature)

    def _piece(self, index: str, piece: str, *, aloud: bool) -> None:
        if piece:
            _, pieces = self._blocks.setdefault(index, (_Block(type="text"), []))
            pieces.append(piece)
            if aloud:
                self._hear(piece)

    def _whole(self) -> Answer:
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
        return _MessageUsage(
            *(
                getattr(earlier if getattr(self, field) is None else self, field)
                for field in self.__struct_fields__
            )
        )


class _Block(msgspec.Struct):
    type: Any = ""
    text: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    thinking: Any = None
    signature: Any = None
    data: Any = None


class _WholeMessage(msgspec.Struct):
    content: list[_Block] | None = None
    stop_reason: Any = None
    usage: _MessageUsage | None = None
    error: Any = None


class _Delta(msgspec.Struct):
    type: Any = ""
    text: Any = None
    partial_json: Any = None
    thinking: Any = None
    signature: Any = None
    stop_reason: Any = None


class _Event(msgspec.Struct):
    type: Any = ""
    index: Any = None
    message: _WholeMessage | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _MessageUsage | None = None
    error: Any = None


_MESSAGE = msgspec.json.Decoder(_WholeMessage)
_EVENT = msgspec.json.Decoder(_Event)
