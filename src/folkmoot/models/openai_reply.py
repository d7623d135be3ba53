"""What comes back from chat completions, in one piece or in many; both give the same answer.

Nothing is taken for granted but the outline: servers leave fields out, put null or lists where text should
be, and count badly.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.message import Answer, Message, Thought, Usage
from folkmoot.domain.text import storable
from folkmoot.models.http import ModelEndpoint
from folkmoot.models.incoming import (
    count,
    counted,
    joined,
    money,
    sound,
    text_of,
    tool_call,
)
from folkmoot.models.wire import AnswerStream
from folkmoot.ports import Hear


def read_completion(endpoint: ModelEndpoint, body: bytes) -> Answer:
    """An answer in one piece."""
    completion = endpoint.read(body, _COMPLETION)
    if not completion.choices or completion.choices[0].message is None:
        raise endpoint.unreadable(body, "it has no choices")
    choice = completion.choices[0]
    said = choice.message
    assert said is not None
    calls = [(call.id, call.function.name, call.function.arguments) for call in said.tool_calls or ()]
    answer = _answer(
        text_of(said.content), text_of(said.refusal), calls, choice.finish_reason, completion.usage
    )
    if not (said.reasoning_content or said.reasoning or said.reasoning_details):
        return answer
    thoughts = Thoughts()
    thoughts.take(said.reasoning_content, said.reasoning, said.reasoning_details)
    return _with(thoughts, answer)


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
        self._usage = piece.usage or self._usage
        if piece.choices:
            self._add(piece.choices[0])
        return False

    def _add(self, choice: _Choice) -> None:
        self._stop = choice.finish_reason or self._stop
        said = choice.delta or choice.message
        if said is None:
            return
        if text := text_of(said.content):
            self._text.append(text)
            self._hear(text)
        if refusal := text_of(said.refusal):
            self._refusal.append(refusal)
        self._thoughts.take(said.reasoning_content, said.reasoning, said.reasoning_details)
        for call in said.tool_calls or ():
            self._add_call(call)

    def _add_call(self, piece: _Call) -> None:
        """Parts of one call share an index; where servers number badly, another id begins another call."""
        partial = self._latest.get(str(piece.index))
        if partial is None or (piece.id and partial.id and piece.id != partial.id):
            partial = self._latest[str(piece.index)] = _PartialCall()
            self._calls.append(partial)
        partial.add(piece)

    def _whole(self) -> Answer:
        calls = [(call.id, call.tool, call.arguments) for call in self._calls]
        answer = _answer(joined(self._text), joined(self._refusal), calls, self._stop, self._usage)
        return _with(self._thoughts, answer)


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


def _answer(
    text: str, refusal: str, calls: list[tuple[Any, Any, Any]], stop: Any, usage: _CompletionUsage | None
) -> Answer:
    return Answer(
        message=Message("assistant", text or refusal, tuple([tool_call(*call) for call in calls])),
        usage=_counted(usage) if usage else Usage(),
        stop="refusal" if refusal else storable(text_of(stop)),
        cost_usd=money(usage.cost) if usage else None,
    )


def _with(thoughts: Thoughts, answer: Answer) -> Answer:
    return replace(answer, message=replace(answer.message, thoughts=thoughts.all()))


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

    def take(self, content: Any, reasoning: Any, details: Any) -> None:
        self._content.append(text_of(content))
        self._reasoning.append(text_of(reasoning))
        for detail in details if isinstance(details, list) else ():
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
            sealed = msgspec.json.encode(sound(self._details)).decode()
            return (Thought("reasoning_details", content or reasoning, sealed),)
        if content:
            return (Thought("reasoning_content", content),)
        return (Thought("reasoning", reasoning),) if reasoning else ()


def sent_back(message: Message) -> dict[str, Any]:
    """The fields of a message with calls that hold what led to them."""
    back: dict[str, Any] = {}
    for thought in message.thoughts:
        if thought.kind == "reasoning_details":
            back[thought.kind] = msgspec.Raw(thought.sealed.encode())
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
