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

from folkmoot.domain.message import Message, Thought, ToolSpec
from folkmoot.domain.part import TEXT, Part
from folkmoot.models.anthropic_reply import MessageStream, read_message
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.strict import closed_arguments
from folkmoot.models.transcript import (
    NO_RESULT,
    Transcript,
    encode,
    not_blank,
    stray_result,
    wire_arguments,
    wire_schema,
    wire_tool,
)
from folkmoot.models.wire import WireModel
from folkmoot.ports import Request

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
        super().__init__(endpoint, sees, read_message, MessageStream, _tool, _strict_tool)

    def body(self, request: Request, *, stream: bool, strict: bool = False) -> bytes:
        transcript = self._transcript(request)
        tuning = request.tuning
        mark = _MARK if tuning.caching == "full" else b""
        thinking, effort = _thinking(request)
        return encode(
            _MessagesBody(
                model=request.model,
                max_tokens=request.max_output,
                system=_system(transcript, mark) if transcript.system else None,
                messages=_closed(transcript, mark),
                tools=_marked(self._tools[strict].of(request.tools), mark) if request.tools else None,
                temperature=None if thinking else tuning.temperature,
                top_p=None if thinking else tuning.top_p,
                top_k=None if thinking else tuning.top_k,
                thinking=thinking,
                output_config=effort,
                stream=stream,
            )
        )

    def _add(self, transcript: Transcript, message: Message) -> None:
        """Turns alternate: what one side says in a row becomes one message of several blocks, results first."""
        if message.role == "system" and not transcript.wire:
            transcript.system.append(encode(not_blank(message.text)))
            return
        if message.role == "tool":
            images = [file_block(part, transcript.contents) for part in message.parts]
            _block(transcript, "user", _result(transcript.answered(message.answers), message.text, images))
            return
        while transcript.awaited:
            _, id = transcript.awaited.pop(0)
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
            id = transcript.id_for(call, _IDS)
            said.append(
                {"type": "tool_use", "id": id, "name": wire_tool(call), "input": wire_arguments(call)}
            )
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


def _tool(tool: ToolSpec) -> object:
    return {"name": tool.name, "description": tool.description, "input_schema": wire_schema(tool)}


def _strict_tool(tool: ToolSpec) -> object:
    closed = closed_arguments(tool, optional=True)
    if closed is None:
        return _tool(tool)
    return {"name": tool.name, "description": tool.description, "input_schema": closed, "strict": True}


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


class _MessagesBody(msgspec.Struct, omit_defaults=True):
    model: str
    max_tokens: int
    messages: Raw
    system: Raw | None = None
    tools: Raw | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, str] | None = None
    stream: bool = False


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
        blocks += [*(_thought(each) for each in thoughts if each.at == place), block]
    return blocks


def _thought(thought: Thought) -> object:
    if thought.kind == "redacted_thinking":
        return {"type": thought.kind, "data": thought.sealed}
    return {"type": "thinking", "thinking": thought.text, "signature": thought.sealed}


def began_without_a_thought(messages: Sequence[Message]) -> bool:
    """Whether the turn under way, which lasts until the user speaks again, began with a call out of the blue."""
    turn = list(takewhile(lambda message: message.role != "user", reversed(messages)))
    first = next((message for message in reversed(turn) if message.role == "assistant"), None)
    return bool(first and first.calls and not any(thought.at == 0 for thought in first.thoughts))
