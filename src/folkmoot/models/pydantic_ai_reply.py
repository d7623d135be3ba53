"""What comes back through pydantic-ai: an answer in one piece or many, or the reason why there is none."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import exceptions, messages
from pydantic_ai.models import StreamedResponse

from folkmoot.domain.message import Answer, Message, Usage
from folkmoot.domain.text import storable
from folkmoot.errors import FailureKind, ModelFailed, WrongUse
from folkmoot.models import failure
from folkmoot.models.incoming import count, counted, joined, tool_call, whole_characters
from folkmoot.models.pydantic_ai_talk import thoughts
from folkmoot.ports import Hear

_DRAWN = "pyd_ai_"


class _NoAnswer(Exception):
    """Nothing went wrong that the library noticed, and yet there is no answer."""


def answer(response: messages.ModelResponse) -> Answer:
    stop = _stop(response)
    if not (response.parts or stop):
        raise _NoAnswer("answered 200 OK with what is no answer (it holds nothing)")
    calls = [part for part in response.parts if isinstance(part, messages.ToolCallPart)]
    text = [part.content for part in response.parts if isinstance(part, messages.TextPart)]
    return Answer(
        message=Message(
            "assistant",
            joined(text),
            tuple([tool_call(_id(call), call.tool_name, call.args) for call in calls]),
            thoughts=tuple(thoughts(response.parts)),
        ),
        usage=_counted(response.usage),
        stop=stop,
    )


async def heard(stream: StreamedResponse, hear: Hear) -> Answer:
    say = whole_characters(hear)
    async for event in stream:
        if piece := _piece(event):
            say(piece)
    response = stream.get()
    if not _stop(response):
        raise _NoAnswer("broke off in the middle of its answer")
    return answer(response)


def failure_of(provider: str, error: Exception, secret: str) -> ModelFailed:
    kind: FailureKind = "timeout" if isinstance(error, exceptions.ModelTimeoutError) else "unknown"
    match error:
        case exceptions.ModelHTTPError():
            body = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
            headers = {**_wait_in(error.body), **(error.headers or {})}
            return failure.of_status(provider, error.status_code, headers, body.encode(), secret)
        case _NoAnswer():
            return ModelFailed(f"{provider} {error}", retryable=True)
        case exceptions.ModelTimeoutError():
            said, retryable = f"was silent for too long ({error.message})", True
        case exceptions.ModelConnectionError():
            said, retryable = f"could not be reached ({error.message})", True
        case exceptions.UserError() | WrongUse():
            said, retryable = f"cannot be asked: {error}", False
        case exceptions.AgentRunError():
            said, retryable = f"answered with what is no answer ({error.message})", True
        case _:
            said, retryable = f"could not be asked ({type(error).__name__}: {error})", True
    return ModelFailed(f"{provider} {failure.cleaned(said, secret)}", retryable=retryable, kind=kind)


def _wait_in(body: Any) -> dict[str, str]:
    """Google says in the body, not in a header, how long it wants to be left alone: `34.5s`."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(wait := detail.get("retryDelay"), str):
            return {"retry-after": wait.removesuffix("s")}
    return {}


def _piece(event: Any) -> str:
    """Only what is said aloud: not what it thinks, nor the arguments of its calls."""
    match event:
        case messages.PartStartEvent(part=messages.TextPart(content=text)):
            return text
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
            return text
    return ""


def _stop(response: messages.ModelResponse) -> str:
    """The provider's own word, where the library keeps it."""
    details = response.provider_details or {}
    return storable(str(details.get("finish_reason") or response.finish_reason or ""))


def _id(call: messages.ToolCallPart) -> str:
    """The provider's; one that the library drew in its place says nothing, and would differ each time."""
    return "" if call.tool_call_id.startswith(_DRAWN) else call.tool_call_id


def _counted(usage: Any) -> Usage:
    """Input counts all of it here too, cached or not."""
    into = count(usage.input_tokens)
    cached = min(count(usage.cache_read_tokens), into)
    written = min(count(usage.cache_write_tokens), into - cached)
    return counted(into, count(usage.output_tokens), cached, written)
