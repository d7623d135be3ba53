"""What was spent, entry by entry: every attempt at a model and every tool call, of every agent in a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmResponse,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.message import Usage
from folkmoot.domain.report import BROADCAST
from folkmoot.domain.team_events import TeamBroadcast
from folkmoot.domain.value import Value


class Spent(Value, omit_defaults=False):
    """One entry of the account."""

    type: Literal["llm", "tool"]
    agent_id: str
    session_id: str
    call_path: str
    """The span: where in the run."""
    timestamp: str
    status: Literal["ok", "failed"]
    name: str
    """`provider/model`, or the tool."""
    latency_ms: int
    chain_trigger: str | None = None
    """Why the session ran: advisor, route, handoff, sub, clarify or ask; none for the root."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cache_read: int = 0
    tokens_cache_write: int = 0
    cost_usd: float = 0.0
    stop_reason: str | None = None
    error: str | None = None


class Totals(Value, omit_defaults=False):
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cache_read: int = 0
    tokens_cache_write: int = 0
    cost_usd: float = 0.0
    model_requests: int = 0
    tool_calls: int = 0
    agents_run: int = 0


def account(drafts: Iterable[Draft]) -> list[Spent]:
    """Calls that were refused before they began are no expense and have no entry."""
    causes: dict[str, str] = {}
    begun: set[tuple[str, int, int]] = set()
    spent: list[Spent] = []
    for draft in drafts:
        event = draft.event
        if isinstance(event, SessionStarted):
            causes[draft.session_id] = event.cause
        elif isinstance(event, RunForked):
            spent.clear()  # the run that it was taken from has paid for it
        elif isinstance(event, ToolStarted):
            begun.add((draft.session_id, event.turn, event.call))
        elif isinstance(event, ToolFailed) and (draft.session_id, event.turn, event.call) not in begun:
            continue
        elif entry := _spent(draft, event, causes.get(draft.session_id) or None):
            spent.append(entry)
    return spent


def total(spent: Iterable[Spent], agents_run: int) -> Totals:
    entries = list(spent)
    return Totals(
        tokens_in=sum(entry.tokens_in for entry in entries),
        tokens_out=sum(entry.tokens_out for entry in entries),
        tokens_cache_read=sum(entry.tokens_cache_read for entry in entries),
        tokens_cache_write=sum(entry.tokens_cache_write for entry in entries),
        cost_usd=sum(entry.cost_usd for entry in entries),
        model_requests=sum(entry.type == "llm" for entry in entries),
        tool_calls=sum(entry.type == "tool" for entry in entries),
        agents_run=agents_run,
    )


def _spent(draft: Draft, event: Event, cause: str | None) -> Spent | None:
    match event:
        case LlmResponse():
            paid = _entry("llm", draft, event.model, cause, event.latency_ms)
            return replace(
                paid, **_tokens(event.usage), cost_usd=event.cost_usd, stop_reason=event.stop or None
            )
        case LlmFailed():
            tried = _entry("llm", draft, event.model, cause, event.latency_ms)
            return replace(tried, status="failed", error=event.error)
        case ToolFinished():
            return _entry("tool", draft, event.tool, cause, event.latency_ms)
        case TeamBroadcast(kind="update"):
            return _entry("tool", draft, BROADCAST, cause, 0)
        case ToolFailed():
            tried = _entry("tool", draft, event.tool, cause, event.latency_ms)
            return replace(tried, status="failed", error=event.text)
        case _:
            return None


def _entry(
    kind: Literal["llm", "tool"], draft: Draft, name: str, cause: str | None, latency_ms: int
) -> Spent:
    return Spent(
        type=kind,
        agent_id=draft.agent_id,
        session_id=draft.session_id,
        call_path=draft.span,
        timestamp=draft.ts,
        status="ok",
        name=name,
        latency_ms=latency_ms,
        chain_trigger=cause,
    )


def _tokens(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in Usage.__struct_fields__}
