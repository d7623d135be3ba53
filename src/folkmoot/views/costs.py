"""What was spent, request by request and in sums, and what is left of the budgets of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec.structs import asdict

from folkmoot.domain.budget import Budget
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
from folkmoot.domain.run_row import SpendSum
from folkmoot.domain.team_events import TeamBroadcast
from folkmoot.domain.value import Value
from folkmoot.views.figures import length, moment, money, tokens
from folkmoot.views.run_nodes import Held
from folkmoot.views.run_tree import RunTree

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


By = Literal["agent", "model", "day"]


class Cost(Value, omit_defaults=False):
    id: str
    """The agent, the model or the day."""
    totals: Totals


class Share(Value):
    """What one agent, model or day took, beside the one that took most."""

    name: str
    amount: SpendSum
    part: float
    """From 0 to 1, by money; by tokens where nothing costs anything."""


def costs(sums: Iterable[SpendSum], by: By) -> list[Cost]:
    """The dearest first; days in their order."""
    rows = [Cost(each.name, totals(each)) for each in sums]
    return rows if by == "day" else sorted(rows, key=lambda row: -row.totals.cost_usd)


def totals(spent: SpendSum) -> Totals:
    return Totals(
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        tokens_cache_read=spent.cache_read,
        tokens_cache_write=spent.cache_write,
        cost_usd=spent.cost,
        model_requests=spent.requests,
        agents_run=spent.sessions,
    )


def shares(sums: Sequence[SpendSum], by: By) -> list[Share]:
    """The dearest first; days from the newest."""
    paid = any(each.cost for each in sums)
    weight = {each.name: each.cost if paid else each.tokens for each in sums}
    most = max(weight.values(), default=0) or 1
    rows = [Share(each.name, each, weight[each.name] / most) for each in sums]
    return sorted(rows, key=lambda row: (row.name if by == "day" else row.part, row.name), reverse=True)


class Limit(Value):
    """One limit of a run's budget, and what of it is used and held."""

    name: str
    most: float
    used: float
    held: float

    @property
    def left(self) -> float:
        return max(0.0, self.most - self.used - self.held)


def narrowest(*budgets: Budget) -> Budget:
    """What several budgets leave together."""
    limits = {
        name: min((limit for budget in budgets if (limit := getattr(budget, name)) is not None), default=None)
        for name in Budget.__struct_fields__
    }
    return Budget(**limits)


def limits(spent: SpendSum, held: Held, budget: Budget) -> list[Limit]:
    """What a run has used of its budget, limit by limit."""
    uses = {"usd": (spent.cost, held.usd), "tokens": (spent.tokens, held.tokens)}
    uses["requests"] = (spent.requests, held.requests)
    return [
        Limit(name, most, *use) for name, use in uses.items() if (most := getattr(budget, name)) is not None
    ]


class Meter(Value):
    """One budget as a bar: settled, held, free; in per cent."""

    name: str
    used: str
    held: str
    limit: str
    """Empty: without one."""
    used_share: float
    held_share: float

    @property
    def hot(self) -> bool:
        """From four fifths on."""
        return self.used_share + self.held_share >= 0.8 * _FULL


_FULL = 100.0


def meters(tree: RunTree, budget: Budget, now: float) -> list[Meter]:
    """Of the whole run; the budget is its root agent's."""
    spent, used = sum(root.cost for root in tree.roots), sum(root.tokens for root in tree.roots)
    held, below, passed = tree.held, tree.descendants, tree.activity.unparked(now)
    usd, most, wall = budget.usd, budget.tokens, budget.wall
    children = "" if budget.descendants is None else str(budget.descendants)
    dollars, limit = f"${usd:,.2f}" if usd else "", tokens(most or 0).replace(".0k", "k")
    return [
        Meter("Money", money(spent) or "$0", money(held.usd), dollars, *_shares(spent, held.usd, usd)),
        Meter("Tokens", tokens(used) or "0", "", limit, *_shares(used, held.tokens, most)),
        Meter("Descendants", str(below), "", children, *_shares(below, 0, budget.descendants)),
        Meter("Wall time", length(passed), "", moment(wall) if wall else "", *_shares(passed, 0, wall)),
    ]


def _shares(used: float, held: float, limit: float | None) -> tuple[float, float]:
    if not limit:
        return 0.0, 0.0
    share = min(_FULL, used / limit * _FULL)
    return round(share, 1), round(min(_FULL - share, held / limit * _FULL), 1)
