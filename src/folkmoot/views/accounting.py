"""What was spent, entry by entry: every attempt at a model and every tool call, of every agent in a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec.structs import asdict

from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmResponse,
    RunForked,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.report import BROADCAST
from folkmoot.domain.team_events import TeamBroadcast
from folkmoot.domain.value import Value

_SUMMED = ("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write", "cost_usd")


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
    sums: dict[str, Any] = {name: sum(getattr(entry, name) for entry in entries) for name in _SUMMED}
    return Totals(
        **sums,
        model_requests=sum(entry.type == "llm" for entry in entries),
        tool_calls=sum(entry.type == "tool" for entry in entries),
        agents_run=agents_run,
    )


def _spent(draft: Draft, event: Event, cause: str | None) -> Spent | None:
    more: dict[str, Any] = {}
    match event:
        case LlmResponse(model=name, usage=usage, cost_usd=cost, stop=stop):
            more = {**asdict(usage), "cost_usd": cost, "stop_reason": stop or None}
        case LlmFailed(model=name, error=error) | ToolFailed(tool=name, text=error):
            more = {"status": "failed", "error": error}
        case ToolFinished(tool=name):
            pass
        case TeamBroadcast(kind="update"):
            name = BROADCAST
        case _:
            return None
    return Spent(
        type="llm" if isinstance(event, LlmResponse | LlmFailed) else "tool",
        agent_id=draft.agent_id,
        session_id=draft.session_id,
        call_path=draft.span,
        timestamp=draft.ts,
        name=name,
        latency_ms=getattr(event, "latency_ms", 0),
        chain_trigger=cause,
        **({"status": "ok"} | more),
    )
