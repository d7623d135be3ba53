"""Chat completions: OpenAI's wire format, which most servers, local or hosted, understand.

OpenAI's own hosts want `max_completion_tokens` and know no `top_k`, repetition penalty or thinking budget;
every other server is sent `max_tokens` and what the agent asks for. A report with a schema is a strict tool, until
a server refuses that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

import msgspec
from msgspec import Raw

from folkmoot.domain.agent import Tuning
from folkmoot.domain.message import Message, ToolSpec
from folkmoot.domain.part import TEXT
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.openai_reply import CompletionStream, read_completion, sent_back
from folkmoot.models.strict import PLAIN, closed_arguments
from folkmoot.models.transcript import (
    NO_RESULT,
    Transcript,
    data_url,
    encode,
    stray_result,
    wire_arguments,
    wire_schema,
    wire_tool,
)
from folkmoot.models.wire import WireModel
from folkmoot.ports import Request

PATH = "/chat/completions"

_OWN_HOSTS = re.compile(r"https://([\w.-]+\.)?openai(\.azure)?\.com(/|$)")
_OWN_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ANY_IDS = re.compile(r".+", re.DOTALL)
_UNSAID = (None, "default", "inherit")
_USAGE_TOO = Raw(b'{"include_usage":true}')
_STRICT_WORDS = PLAIN | set("pattern format minimum maximum multipleOf minItems maxItems".split())


def headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


class OpenAI(WireModel):
    """One provider that speaks chat completions."""

    def __init__(self, endpoint: ModelEndpoint, base_url: str, sees: bool | None = True) -> None:
        super().__init__(endpoint, sees, read_completion, CompletionStream, _tool, _strict_tool)
        self._own = bool(_OWN_HOSTS.match(base_url))
        self._ids = _OWN_IDS if self._own else _ANY_IDS

    def body(self, request: Request, *, stream: bool, strict: bool = False) -> bytes:
        transcript = self._transcript(request)
        tuning, own = request.tuning, self._own
        return encode(
            _CompletionsBody(
                model=request.model,
                messages=_closed(transcript),
                tools=self._tools[strict].of(request.tools) if request.tools else None,
                max_completion_tokens=request.max_output if own else None,
                max_tokens=None if own else request.max_output,
                temperature=tuning.temperature,
                top_p=tuning.top_p,
                top_k=None if own else tuning.top_k,
                repetition_penalty=None if own else tuning.repeat_penalty,
                reasoning_effort=_effort(tuning, own),
                reasoning=None if own else _thinking(tuning),
                prompt_cache_key=_cache_key(request) if own and tuning.caching == "full" else None,
                stream=stream,
                stream_options=_USAGE_TOO if stream else None,
            )
        )

    def _add(self, transcript: Transcript, message: Message) -> None:
        if message.role == "tool":
            transcript.write(encode(_result(transcript.answered(message.answers), message.text)))
            transcript.images += _files(message, transcript.contents)
            _show_images(transcript)
            return
        while transcript.awaited:
            _, id = transcript.awaited.pop(0)
            transcript.write(encode(_result(id, NO_RESULT)))
        _show_images(transcript)
        if not message.calls:
            files = _files(message, transcript.contents)
            content = [*files, {"type": "text", "text": message.text}] if files else message.text
            transcript.write(encode({"role": message.role, "content": content}))
            return
        calls = [
            {
                "id": transcript.id_for(call, self._ids),
                "type": "function",
                "function": {"name": wire_tool(call), "arguments": encode(wire_arguments(call)).decode()},
            }
            for call in message.calls
        ]
        said = {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        transcript.write(encode(said | ({} if self._own else sent_back(message))))


def _closed(transcript: Transcript) -> Raw:
    """The messages in their brackets; they must not end with a call that has no result."""
    results = [encode(_result(id, NO_RESULT)) for _, id in transcript.awaited]
    return Raw(b"".join((b"[", b",".join((transcript.wire, *results)), b"]")))


def _show_images(transcript: Transcript) -> None:
    """Results hold only text, and nothing may come between them: the user shows their images when all are there."""
    if transcript.images and not transcript.awaited:
        transcript.write(encode({"role": "user", "content": transcript.images}))
        transcript.images = []


def _files(message: Message, contents: Mapping[str, bytes]) -> list[dict[str, object]]:
    """Each image under its name."""
    content: list[dict[str, object]] = []
    for part in message.parts:
        held = contents[part.artifact]
        if part.media == TEXT:
            content.append({"type": "text", "text": f"{part.name}:\n{held.decode()}"})
        elif part.is_image:
            content.append({"type": "text", "text": f"{part.name}:"})
            content.append({"type": "image_url", "image_url": {"url": data_url(part, held)}})
        else:
            file = {"filename": part.name, "file_data": data_url(part, held)}
            content.append({"type": "file", "file": file})
    return content


def _tool(tool: ToolSpec) -> object:
    function = {"name": tool.name, "description": tool.description, "parameters": wire_schema(tool)}
    return {"type": "function", "function": function}


def _strict_tool(tool: ToolSpec) -> object:
    closed = closed_arguments(tool, _STRICT_WORDS)
    if closed is None:
        return _tool(tool)
    function = {"name": tool.name, "description": tool.description, "parameters": closed, "strict": True}
    return {"type": "function", "function": function}


def _cache_key(request: Request) -> str:
    """Leads each turn of a conversation to where the one before it was kept; says nothing of it."""
    return blake2b(request.session.encode(), digest_size=16).hexdigest()


def _result(id: str, text: str) -> object:
    if not id:
        return {"role": "user", "content": stray_result(text)}
    return {"role": "tool", "tool_call_id": id, "content": text}


def _effort(tuning: Tuning, own: bool) -> str | None:
    """Servers that take a budget of thinking tokens take no effort beside it."""
    counted = tuning.reasoning_tokens and not own
    return None if counted or tuning.reasoning in _UNSAID else tuning.reasoning


def _thinking(tuning: Tuning) -> dict[str, int] | None:
    return {"max_tokens": tuning.reasoning_tokens} if tuning.reasoning_tokens else None


class _CompletionsBody(msgspec.Struct, omit_defaults=True):
    model: str
    messages: Raw
    tools: Raw | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    reasoning_effort: str | None = None
    reasoning: dict[str, int] | None = None
    prompt_cache_key: str | None = None
    stream: bool = False
    stream_options: Raw | None = None
