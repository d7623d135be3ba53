"""What was spent, by agent, model, day and run: folded entry by entry, so that a later look reads only what is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, NamedTuple

import msgspec

from folkmoot.domain.budget import Budget
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RUN_ENDS, LlmFailed, LlmRequest, LlmResponse, RunPruned, RunStarted
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.value import Value
from folkmoot.views.accounting import account

By = Literal["day", "agent", "model"]


class Amount(Value):
    requests: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def __add__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, name) + getattr(other, name) for name in Amount.__struct_fields__))


class Share(Value):
    """What one agent, model or day took, beside the one that took most."""

    name: str
    amount: Amount
    part: float
    """From 0 to 1, by money; by tokens where nothing costs anything."""


class RunCost(msgspec.Struct):
    run: str
    agent: str = ""
    """The root agent's file."""
    work_session: str = ""
    started: str = ""
    ended: bool = False
    spent: dict[Cell, Amount] = msgspec.field(default_factory=dict)
    held: dict[str, LlmRequest] = msgspec.field(default_factory=dict)
    """Requests under way, by span: what each may cost is reserved."""

    @property
    def amount(self) -> Amount:
        return sum(self.spent.values(), Amount())


class Cell(NamedTuple):
    day: str
    agent: str
    model: str


class Wanted(Value):
    """Which costs somebody looks at. Empty fields do not restrict."""

    work_session: str = ""
    run: str = ""
    since: str = ""
    """A day: `2026-03-01`."""
    until: str = ""
    """The last day."""


class Limit(Value):
    """One limit of a run's budget, and what of it is used."""

    name: str
    most: float
    used: float
    held: float

    @property
    def left(self) -> float:
        return max(0.0, self.most - self.used - self.held)


class Costs:
    """All costs of a journal up to `position`."""

    takes: ClassVar = (LlmRequest, LlmResponse, LlmFailed, RunStarted, RunForked, RunPruned, *RUN_ENDS)

    def __init__(self) -> None:
        self.position = 0
        self._runs: dict[str, RunCost] = {}

    def fold(self, entry: Entry) -> None:
        self.position = entry.seq
        draft = entry.draft
        run = self._runs.setdefault(entry.stream, RunCost(entry.stream))
        run.work_session = run.work_session or draft.work_session_id
        match draft.event:
            case RunStarted(agent=agent):
                run.agent, run.started = agent, draft.ts
            case RunForked():
                run.spent.clear()  # the run that it was taken from has paid for it
            case RunPruned():
                del self._runs[entry.stream]
            case LlmRequest() as asked:
                run.held[draft.span] = asked
            case LlmResponse() | LlmFailed():
                run.held.pop(draft.span, None)
                for each in account([draft]):
                    cell = Cell(draft.ts[:10], each.agent_id, each.name)
                    paid = Amount(1, each.status == "failed", each.tokens_in, each.tokens_out, each.cost_usd)
                    run.spent[cell] = run.spent.get(cell, Amount()) + paid
            case event if isinstance(event, RUN_ENDS):
                run.ended = True
                run.held.clear()

    def runs(self, wanted: Wanted) -> list[RunCost]:
        """The newest first, each with what of it is wanted."""
        fitting = [run for run in self._runs.values() if _fits(run, wanted)]
        return sorted(fitting, key=lambda run: run.started, reverse=True)

    def shares(self, wanted: Wanted, by: By) -> list[Share]:
        """The dearest first; days from the newest."""
        sums: dict[str, Amount] = {}
        for cell, amount in _cells(self.runs(wanted), wanted):
            name = getattr(cell, by)
            sums[name] = sums.get(name, Amount()) + amount
        paid = any(amount.usd for amount in sums.values())
        weight = {name: amount.usd if paid else amount.tokens for name, amount in sums.items()}
        most = max(weight.values(), default=0) or 1
        order = sorted(sums, key=lambda name: (name if by == "day" else weight[name], name), reverse=True)
        return [Share(name, sums[name], weight[name] / most) for name in order]

    def total(self, wanted: Wanted) -> Amount:
        return sum((amount for _, amount in _cells(self.runs(wanted), wanted)), Amount())


def limits(run: RunCost, *budgets: Budget) -> list[Limit]:
    """What is left of the tightest of these budgets, limit by limit."""
    spent, held = run.amount, run.held.values()
    uses = {
        "usd": (spent.usd, sum(asked.reserved_usd for asked in held)),
        "tokens": (spent.tokens, sum(asked.reserved_tokens for asked in held)),
        "requests": (spent.requests, len(held)),
    }
    found: list[Limit] = []
    for name, (used, reserved) in uses.items():
        most = [limit for budget in budgets if (limit := getattr(budget, name)) is not None]
        if most:
            found.append(Limit(name, min(most), used, reserved))
    return found


def _fits(run: RunCost, wanted: Wanted) -> bool:
    named = wanted.work_session in ("", run.work_session) and wanted.run in ("", run.run)
    dated = not (wanted.since or wanted.until) or any(_dated(cell, wanted) for cell in run.spent)
    return named and dated


def _cells(runs: Iterable[RunCost], wanted: Wanted) -> Iterator[tuple[Cell, Amount]]:
    for run in runs:
        for cell, amount in run.spent.items():
            if _dated(cell, wanted):
                yield cell, amount


def _dated(cell: Cell, wanted: Wanted) -> bool:
    return wanted.since <= cell.day and (not wanted.until or cell.day <= wanted.until)
