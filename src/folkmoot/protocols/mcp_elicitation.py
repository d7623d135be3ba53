"""What a run waits for as forms for the person at an MCP client, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestFormParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from folkmoot.domain.inbox import Item, Reply
from folkmoot.domain.inbox_events import Settlement
from folkmoot.orchestration.inbox import Answerer
from folkmoot.views.inbox import described

Context = ServerRequestContext[Any]

_SETTLEMENTS: Mapping[str, Settlement] = {"done": "done", "retry": "retry", "fail": "fail"}
_FORMS: Mapping[str, dict[str, dict[str, Any]]] = {
    "question": {"answer": {"title": "Your answer"}},
    "approval": {
        "decision": {"title": "May this call be made?", "enum": ["approve", "deny"]},
        "reason": {"title": "Why not (the agent is told)"},
    },
    "client_call": {"answer": {"title": "What the tool gave"}},
    "in_doubt": {
        "decision": {"title": "What became of it?", "enum": list(_SETTLEMENTS)},
        "text": {"title": "What it gave, or why it failed"},
    },
}
"""Texts to fill in; the first is required."""


def form_for(item: Item) -> ElicitRequestFormParams:
    """Everything that a person needs to decide: the whole call, nothing hidden in it."""
    fields = {name: {"type": "string", **field} for name, field in _FORMS[item.kind].items()}
    schema = {"type": "object", "properties": fields, "required": [*fields][:1]}
    return ElicitRequestFormParams(message="\n".join(described(item)).strip(), requested_schema=schema)


def reply_to(item: Item, form: ElicitResult, context: Context) -> Reply | None:
    """None if the item stays open. Only an approval can be declined: that is a no, and needs no form."""
    client = context.session.client_params  # all that is known of the person
    by = f"mcp:{client.client_info.name}" if client else "mcp"
    if form.action != "accept":
        declined = form.action == "decline" and item.kind == "approval"
        return item.deny("declined at the client", by) if declined else None
    filled = {name: str(value) for name, value in (form.content or {}).items()}
    match item.kind, filled.get("decision", ""):
        case (("question" | "client_call"), _):
            return item.answer(filled["answer"], by) if filled.get("answer") else None
        case "approval", "approve":
            return item.approve(by)
        case "approval", "deny":
            return item.deny(filled.get("reason", ""), by)
        case "in_doubt", decision if decision in _SETTLEMENTS:
            return item.settle(_SETTLEMENTS[decision], filled.get("text", ""), by)
        case _:
            return None


def elicits(context: Context) -> bool:
    """Whether the client shows forms; one that says no more than `elicitation: {}` does."""
    capabilities = context.session.client_capabilities
    offered = capabilities.elicitation if capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def asked_with_the_answer(context: Context) -> bool:
    """The newer generation: no question reaches a client but as the answer to its call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def answerer(context: Context) -> Answerer | None:
    """Answers while the run goes on; none if nobody is there: the run parks, or takes that for a no."""
    if not elicits(context):
        return None
    if asked_with_the_answer(context):
        return _leave_open

    async def elicit(item: Item) -> Reply | None:
        asked = form_for(item)
        try:
            form = await context.session.elicit_form(
                asked.message, asked.requested_schema, context.request_id
            )
        except MCPError:  # a client that cannot after all; the run parks, and can be answered elsewhere
            return None
        return reply_to(item, form, context)

    return elicit


async def _leave_open(item: Item) -> None:
    """Somebody is there, but can be asked only when the run has parked."""
