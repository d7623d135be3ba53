"""What a run waits for, put to the person at the client by elicitation; what they say is a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestFormParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from folkmoot.domain.inbox_events import Settlement
from folkmoot.domain.item import Item, Reply
from folkmoot.orchestration.inbox import Answerer
from folkmoot.views.inbox import described

Context = ServerRequestContext[Any]

_SETTLEMENTS: Mapping[str, Settlement] = {"done": "done", "retry": "retry", "fail": "fail"}
_FORMS: Mapping[str, dict[str, Any]] = {
    "question": {
        "properties": {"answer": {"type": "string", "title": "Your answer"}},
        "required": ["answer"],
    },
    "approval": {
        "properties": {
            "decision": {"type": "string", "title": "May this call be made?", "enum": ["approve", "deny"]},
            "reason": {"type": "string", "title": "Why not (the agent is told)"},
        },
        "required": ["decision"],
    },
    "client_call": {
        "properties": {"answer": {"type": "string", "title": "What the tool gave"}},
        "required": ["answer"],
    },
    "in_doubt": {
        "properties": {
            "decision": {"type": "string", "title": "What became of it?", "enum": list(_SETTLEMENTS)},
            "text": {"type": "string", "title": "What it gave, or why it failed"},
        },
        "required": ["decision"],
    },
}


def form(item: Item) -> ElicitRequestFormParams:
    """Everything that a person needs to decide: the whole call, nothing hidden in it."""
    message = "\n".join(described(item)).strip()
    return ElicitRequestFormParams(message=message, requested_schema={"type": "object", **_FORMS[item.kind]})


def reply_to(item: Item, said: ElicitResult, by: str) -> Reply | None:
    """None for what leaves it open. Only an approval can be declined: that is a no, and needs no form."""
    if said.action != "accept":
        declined = said.action == "decline" and item.kind == "approval"
        return item.deny("declined at the client", by) if declined else None
    told = {name: str(value) for name, value in (said.content or {}).items()}
    match item.kind, told.get("decision", ""):
        case (("question" | "client_call"), _):
            return item.answer(told["answer"], by) if told.get("answer") else None
        case "approval", "approve":
            return item.approve(by)
        case "approval", "deny":
            return item.deny(told.get("reason", ""), by)
        case "in_doubt", decision if decision in _SETTLEMENTS:
            return item.settle(_SETTLEMENTS[decision], told.get("text", ""), by)
        case _:
            return None


def who(context: Context) -> str:
    """Who is recorded to have decided: all that is known is the client they sit at."""
    client = context.session.client_params
    return f"mcp:{client.client_info.name}" if client else "mcp"


def elicits(context: Context) -> bool:
    """Whether the client shows forms; one that says no more than `elicitation: {}` does."""
    capabilities = context.session.client_capabilities
    offered = capabilities.elicitation if capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def asked_with_the_answer(context: Context) -> bool:
    """The newer generation: no question reaches a client but as the answer to its call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def answerer(context: Context) -> Answerer | None:
    """Who answers while the run goes on; none: nobody is there, and it parks, or takes that for a no."""
    if not elicits(context):
        return None
    return _later if asked_with_the_answer(context) else _Elicitation(context)


async def _later(item: Item) -> None:
    """Somebody is there, but can be asked only when the run has parked."""


class _Elicitation:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def __call__(self, item: Item) -> Reply | None:
        asked = form(item)
        try:
            said = await self._context.session.elicit_form(
                asked.message, asked.requested_schema, self._context.request_id
            )
        except MCPError:  # a client that cannot after all; the run parks, and can be answered elsewhere
            return None
        return reply_to(item, said, who(self._context))
