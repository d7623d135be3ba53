"""What was spent, by agent, model, day and run, and what is left of the budgets of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from folkmoot.domain.budget import Budget
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmFailed, LlmRequest, LlmResponse
from folkmoot.domain.run_row import RunSummary, SpendSum
from folkmoot.domain.value import Value
from folkmoot.views.accounting import Totals

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


class RunCost(Value):
    """What one run took."""

    run: RunSummary
    amount: SpendSum
    held: tuple[LlmRequest, ...] = ()
    """Requests under way: what each may cost is reserved."""


class Limit(Value):
    """One limit of a run's budget, and what of it is used."""

    name: str
    most: float
    used: float
    held: float

    @property
    def left(self) -> float:
        return max(0.0, self.most - self.used - self.held)


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
    order = sorted(
        sums, key=lambda each: (each.name if by == "day" else weight[each.name], each.name), reverse=True
    )
    return [Share(each.name, each, weight[each.name] / most) for each in order]


def requests_under_way(drafts: Iterable[Draft]) -> tuple[LlmRequest, ...]:
    """Of a run that has not ended."""
    held: dict[str, LlmRequest] = {}
    for draft in drafts:
        if isinstance(draft.event, LlmRequest):
            held[draft.span] = draft.event
        elif isinstance(draft.event, LlmResponse | LlmFailed):
            held.pop(draft.span, None)
    return tuple(held.values())


def limits(run: RunCost, *budgets: Budget) -> list[Limit]:
    """What is left of the tightest of these budgets, limit by limit."""
    spent, held = run.amount, run.held
    uses = {
        "usd": (spent.cost, sum(asked.reserved_usd for asked in held)),
        "tokens": (spent.tokens, sum(asked.reserved_tokens for asked in held)),
        "requests": (spent.requests, len(held)),
    }
    found: list[Limit] = []
    for name, (used, reserved) in uses.items():
        most = [limit for budget in budgets if (limit := getattr(budget, name)) is not None]
        if most:
            found.append(Limit(name, min(most), used, reserved))
    return found
