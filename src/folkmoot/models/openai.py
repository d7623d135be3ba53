"""Chat completions: OpenAI's wire format, which most servers, local or hosted, understand.

OpenAI's own hosts want `max_completion_tokens` and know no `top_k`, repetition penalty or thinking budget;
every other server is sent `max_tokens` and what the agent asks for. A report with a schema is a strict tool, until
a server refuses that. Of what comes back nothing is taken for granted but the outline: servers leave fields out, put
null or lists where text should be, and count badly. In one piece or in many, it is the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from folkmoot.domain.message import Answer, Message, Thought, ToolSpec, Usage
from folkmoot.domain.part import TEXT
from folkmoot.domain.text import storable
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.incoming import count, counted, joined, money, sound, text_of, tool_call
from folkmoot.models.outgoing import (
    NO_RESULT,
    PLAIN,
    Transcript,
    arguments_schema,
    data_url,
    encode,
    stray_result,
    wire_call,
)
from folkmoot.models.wire import AnswerStream, WireModel
from folkmoot.ports import Hear, Request

PATH = "/chat/completions"

_OWN_HOSTS = re.compile(r"https://([\w.-]+\.)?openai(\.azure)?\.com(/|$)")
_OWN_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ANY_IDS = re.compile(r".+", re.DOTALL)
_UNSAID = (None, "default", "inherit")
_STRICT_WORDS = PLAIN | set("pattern format minimum maximum multipleOf minItems maxItems".split())


def headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


class OpenAI(WireModel):
    """One provider that speaks chat completions."""

    def __init__(self, endpoint: ModelEndpoint, base_url: str, sees: bool | None = True) -> None:
        super().__init__(endpoint, sees, read_completion, CompletionStream, _tool)
        self._own = bool(_OWN_HOSTS.match(base_url))
        self._ids = _OWN_IDS if self._own else _ANY_IDS

    def body(self, request: Request, *, stream: bool, strict: bool = False) -> bytes:
        transcript = self._transcript(request)
        tuning, own = request.tuning, self._own
        budget = None if own else tuning.reasoning_tokens  # who takes one takes no effort beside it
        body = {
            "model": request.model,
            "messages": _closed(transcript),
            "tools": self._tool_list(request, strict),
            "max_completion_tokens" if own else "max_tokens": request.max_output,
            "temperature": tuning.temperature,
            "top_p": tuning.top_p,
            "top_k": None if own else tuning.top_k,
            "repetition_penalty": None if own else tuning.repeat_penalty,
            "reasoning_effort": None if budget or tuning.reasoning in _UNSAID else tuning.reasoning,
            "reasoning": {"max_tokens": budget} if budget else None,
            "prompt_cache_key": _cache_key(request) if own and tuning.caching == "full" else None,
            "stream": stream or None,
            "stream_options": {"include_usage": True} if stream else None,
        }
        return encode({key: value for key, value in body.items() if value is not None})

    def _add(self, transcript: Transcript, message: Message) -> None:
        if message.role == "tool":
            transcript.write(encode(_result(transcript.answered(message.answers), message.text)))
            transcript.images += _files(message, transcript.contents)
            _show_images(transcript)
            return
        for id in transcript.unanswered():
            transcript.write(encode(_result(id, NO_RESULT)))
        _show_images(transcript)
        if not message.calls:
            files = _files(message, transcript.contents)
            content = [*files, {"type": "text", "text": message.text}] if files else message.text
            transcript.write(encode({"role": message.role, "content": content}))
            return
        calls = []
        for call in message.calls:
            name, arguments = wire_call(call)
            function = {"name": name, "arguments": encode(arguments).decode()}
            id = transcript.id_for(call, self._ids)
            calls.append({"id": id, "type": "function", "function": function})
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


def _tool(tool: ToolSpec, strict: bool) -> object:
    schema = arguments_schema(tool, strict, _STRICT_WORDS)
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, **schema}}


def _cache_key(request: Request) -> str:
    """Leads each turn of a conversation to where the one before it was kept; says nothing of it."""
    return blake2b(request.session.encode(), digest_size=16).hexdigest()


def _result(id: str, text: str) -> object:
    if not id:
        return {"role": "user", "content": stray_result(text)}
    return {"role": "tool", "tool_call_id": id, "content": text}


def read_completion(endpoint: ModelEndpoint, body: bytes) -> Answer:
    """An answer in one piece."""
    completion = endpoint.read(body, _COMPLETION)
    choice = completion.choices[0] if completion.choices else _Choice()
    if choice.message is None:
        raise endpoint.unreadable(body, "it has no choices")
    for number, call in enumerate(choice.message.tool_calls or ()):
        call.index = number
    whole = CompletionStream(endpoint, lambda text: None)
    whole.add(choice.message, choice.finish_reason, completion.usage)
    return whole.whole()


class CompletionStream(AnswerStream):
    def __init__(self, endpoint: ModelEndpoint, hear: Hear) -> None:
        super().__init__(endpoint, hear)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts = Thoughts()
        self._calls: list[_PartialCall] = []
        self._latest: dict[str, _PartialCall] = {}
        self._usage: _CompletionUsage | None = None

    def take(self, data: bytes) -> bool:
        if data.strip() == b"[DONE]":
            self._done = True
            return True
        piece = self._endpoint.read(data, _COMPLETION, piece=True)
        choice = piece.choices[0] if piece.choices else _Choice()
        self.add(choice.delta or choice.message, choice.finish_reason, piece.usage)
        return False

    def add(self, said: _Said | None, stop: Any, usage: _CompletionUsage | None) -> None:
        self._stop, self._usage = stop or self._stop, usage or self._usage
        if said is None:
            return
        if text := text_of(said.content):
            self._text.append(text)
            self._hear(text)
        self._refusal.append(text_of(said.refusal))
        self._thoughts.take(said)
        for call in said.tool_calls or ():
            self._add_call(call)

    def _add_call(self, piece: _Call) -> None:
        """Parts of one call share an index; where servers number badly, another id begins another call."""
        partial = self._latest.get(str(piece.index))
        if partial is None or (piece.id and partial.id and piece.id != partial.id):
            partial = self._latest[str(piece.index)] = _PartialCall()
            self._calls.append(partial)
        partial.add(piece)

    def whole(self) -> Answer:
        text, refusal, usage = joined(self._text), joined(self._refusal), self._usage
        calls = tuple([tool_call(call.id, call.tool, call.arguments) for call in self._calls])
        return Answer(
            message=Message("assistant", text or refusal, calls, thoughts=self._thoughts.all()),
            usage=_counted(usage) if usage else Usage(),
            stop="refusal" if refusal else storable(text_of(self._stop)),
            cost_usd=money(usage.cost) if usage else None,
        )


class _PartialCall:
    def __init__(self) -> None:
        self.id: Any = None
        self.tool = ""
        self._written: list[str] = []
        self._object: Any = None

    def add(self, piece: _Call) -> None:
        self.id = self.id or piece.id
        self.tool = self.tool or text_of(piece.function.name)
        if isinstance(piece.function.arguments, str):
            self._written.append(piece.function.arguments)
        else:
            self._object = piece.function.arguments or self._object

    @property
    def arguments(self) -> Any:
        return joined(self._written) if self._written else self._object


def _counted(usage: _CompletionUsage) -> Usage:
    """Some servers leave thinking out of `completion_tokens` but not out of the total."""
    into, out = count(usage.prompt_tokens), count(usage.completion_tokens)
    if into and out:
        out = max(out, count(usage.total_tokens) - into)
    details = usage.prompt_tokens_details
    read_back = count(details.cached_tokens) if details else count(usage.prompt_cache_hit_tokens)
    written = count(details.cache_write_tokens) if details else 0
    return counted(into, out, min(read_back, into), min(written, into - min(read_back, into)))


class _Function(msgspec.Struct, frozen=True):
    name: Any = None
    arguments: Any = None


class _Call(msgspec.Struct):
    id: Any = None
    index: Any = None
    function: _Function = _Function()


class _Said(msgspec.Struct):
    content: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None


class _Choice(msgspec.Struct):
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: Any = None


class _Details(msgspec.Struct):
    cached_tokens: Any = 0
    cache_write_tokens: Any = 0


class _CompletionUsage(msgspec.Struct):
    prompt_tokens: Any = 0
    completion_tokens: Any = 0
    total_tokens: Any = 0
    prompt_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: Any = 0
    cost: Any = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _CompletionUsage | None = None
    error: Any = None


_COMPLETION = msgspec.json.Decoder(_Completion)
_GROWING = ("text", "summary", "data")
"""Fields of a detail that come in pieces; the others are said once."""


class Thoughts:
    """What a model thought, in one of three fields. `reasoning_content` and `reasoning_details` go back to the server
    with the calls that they led to; `reasoning` is only for people to read."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[Any] = []

    def take(self, said: _Said) -> None:
        self._content.append(text_of(said.reasoning_content))
        self._reasoning.append(text_of(said.reasoning))
        for detail in said.reasoning_details if isinstance(said.reasoning_details, list) else ():
            self._add(detail)

    def _add(self, detail: Any) -> None:
        last: Any = self._details[-1] if self._details else None
        if not _goes_on(last, detail):
            self._details.append(detail)
            return
        grown = {key: last.get(key, "") + detail[key] for key in _GROWING if key in detail}
        said = {key: value for key, value in detail.items() if value is not None}
        self._details[-1] = {**last, **said, **grown}

    def all(self) -> tuple[Thought, ...]:
        """Servers that give details say the same as text beside them."""
        content, reasoning = joined(self._content), joined(self._reasoning)
        if self._details:
            sealed = encode(sound(self._details)).decode()
            return (Thought("reasoning_details", content or reasoning, sealed),)
        if content:
            return (Thought("reasoning_content", content),)
        return (Thought("reasoning", reasoning),) if reasoning else ()


def sent_back(message: Message) -> dict[str, Any]:
    """The fields of a message with calls that hold what led to them."""
    back: dict[str, Any] = {}
    for thought in message.thoughts:
        if thought.kind == "reasoning_details":
            back[thought.kind] = Raw(thought.sealed.encode())
        elif thought.kind == "reasoning_content":
            back[thought.kind] = thought.text
    return back


def _goes_on(last: Any, detail: Any) -> bool:
    """The same kind at the same index; what has no index stands for itself."""
    if not isinstance(last, dict) or not isinstance(detail, dict) or detail.get("index") is None:
        return False
    same = (last.get("type"), last.get("index")) == (detail.get("type"), detail["index"])
    texts = (each.get(key, "") for each in (last, detail) for key in _GROWING)
    return same and all(isinstance(text, str) for text in texts)
