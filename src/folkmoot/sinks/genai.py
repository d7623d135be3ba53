"""The words of OpenTelemetry's semantic conventions for generative AI, and what of a run goes under which. Pure.

What anybody wrote (requests, prompts, answers, arguments, results, reports) stands in `request`, `prompt`, `output`,
`arguments`, `result` and `report` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from folkmoot.domain import older_entries
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmFailed, LlmRequest, LlmResponse
from folkmoot.domain.message import Message
from folkmoot.domain.report import Report

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
ANSWERED_BY = "gen_ai.response.model"
TOOL = "gen_ai.tool.name"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
ERROR = "error.type"
OTHER = "_OTHER"
"""An error of which no more is known than its words."""
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"

Attributes = dict[str, Any]


def place(draft: Draft) -> Attributes:
    """Whose it is, and in which conversation."""
    known = {
        "gen_ai.agent.name": draft.agent_id,
        "gen_ai.conversation.id": draft.work_session_id,
        "folkmoot.span": draft.span,
    }
    return {name: value for name, value in known.items() if value}


def agent(draft: Draft, run: str, cause: str) -> Attributes:
    why = {"folkmoot.cause": cause} if cause else {}
    named = {"folkmoot.run.id": run, "folkmoot.session.id": draft.session_id}
    return {OPERATION: "invoke_agent", **place(draft), **named, **why}


def model(draft: Draft, asked: LlmRequest) -> Attributes:
    provider, _, name = asked.model.partition("/")
    return {
        OPERATION: "chat",
        **place(draft),
        PROVIDER: provider,
        MODEL: name,
        "gen_ai.request.max_tokens": asked.max_output,
        "folkmoot.turn": asked.turn,
        "folkmoot.attempt": asked.attempt,
    }


def answer(said: LlmResponse) -> Attributes:
    """The tokens that came from or went to a cache are a part of the input, here as there."""
    usage = said.usage
    attributes = {
        ANSWERED_BY: said.model.partition("/")[2],
        INPUT_TOKENS: usage.tokens_in,
        OUTPUT_TOKENS: usage.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": usage.tokens_cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.tokens_cache_write,
        "folkmoot.cost_usd": said.cost_usd,
    }
    return attributes | ({"gen_ai.response.finish_reasons": (said.stop,)} if said.stop else {})


def failure(failed: LlmFailed) -> str:
    """The status of a provider that answered with one, or `timeout`."""
    status = failed.status if failed.kind else older_entries.failure_status(failed.error)
    kind = failed.kind or older_entries.failure_kind(failed.error)
    return str(status) if status else "timeout" if kind == "timeout" else OTHER


def tool(draft: Draft, name: str, call: str) -> Attributes:
    """`call` is what the call is called in the journal: ids of providers may be empty or double."""
    known = {TOOL: name, "gen_ai.tool.type": "function", "gen_ai.tool.call.id": call}
    return {OPERATION: "execute_tool", **place(draft), **known}


def request(text: str) -> Attributes:
    return {INPUT: _json([{"role": "user", "parts": [_text(text)]}])}


def prompt(messages: Iterable[Message]) -> Attributes:
    """What a model was sent."""
    told = list(messages)
    system = [_text(message.text) for message in told if message.role == "system"]
    sent = {INPUT: _json([_message(message) for message in told if message.role != "system"])}
    return sent | ({"gen_ai.system_instructions": _json(system)} if system else {})


def output(message: Message) -> Attributes:
    reason = "tool_call" if message.calls else "stop"
    return {OUTPUT: _json([{**_message(message), "finish_reason": reason}])}


def report(written: Report) -> Attributes:
    said = {"role": "assistant", "parts": [_text(written.content)], "finish_reason": "stop"}
    return {OUTPUT: _json([said])}


def arguments(given: dict[str, Any] | UnsetType) -> Attributes:
    return {} if given is UNSET else {"gen_ai.tool.call.arguments": _json(given)}


def result(text: str) -> Attributes:
    return {"gen_ai.tool.call.result": text}


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        part = {"type": "tool_call_response", "id": message.answers, "response": message.text}
        return {"role": "tool", "parts": [part]}
    calls = [
        {"type": "tool_call", "id": call.id, "name": call.tool, "arguments": call.arguments}
        for call in message.calls
    ]
    return {"role": message.role, "parts": [*([_text(message.text)] if message.text else []), *calls]}


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
