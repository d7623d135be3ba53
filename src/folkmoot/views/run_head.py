"""What stands above a run: its state, its agents, what it spent and what it may spend."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.domain.budget import Budget
from folkmoot.views.figures import length, moment, money, tokens
from folkmoot.views.run_tree import RunTree

_FULL = 100.0


@dataclass(frozen=True)
class Meter:
    """One budget as a bar: settled, held, free; in per cent."""

    name: str
    used: str
    held: str
    limit: str
    """Empty: without one."""
    used_share: float = 0.0
    held_share: float = 0.0

    @property
    def hot(self) -> bool:
        """From four fifths on."""
        return self.used_share + self.held_share >= 0.8 * _FULL


def narrowest(*budgets: Budget) -> Budget:
    """What several budgets leave together."""
    limits = {
        name: min((limit for budget in budgets if (limit := getattr(budget, name)) is not None), default=None)
        for name in Budget.__struct_fields__
    }
    return Budget(**limits)


def meters(steps: RunTree, budget: Budget, now: float) -> list[Meter]:
    """Of the whole run; the budget is its root agent's."""
    spent = sum(root.cost for root in steps.roots)
    used = sum(root.tokens for root in steps.roots)
    held_tokens, held_usd = steps.held
    passed = steps.activity.unparked(now)
    usd, most, wall = budget.usd, budget.tokens, budget.wall
    dollars, limit = f"${usd:,.2f}" if usd else "", tokens(most or 0).replace(".0k", "k")
    return [
        Meter("Money", money(spent) or "$0", money(held_usd), dollars, *_shares(spent, held_usd, usd)),
        Meter("Tokens", tokens(used) or "0", "", limit, *_shares(used, held_tokens, most)),
        Meter(
            "Descendants",
            str(steps.descendants),
            "",
            "" if budget.descendants is None else str(budget.descendants),
            *_shares(steps.descendants, 0, budget.descendants),
        ),
        Meter("Wall time", length(passed), "", moment(wall) if wall else "", *_shares(passed, 0, wall)),
    ]


def _shares(used: float, held: float, limit: float | None) -> tuple[float, float]:
    if not limit:
        return 0.0, 0.0
    share = min(_FULL, used / limit * _FULL)
    return round(share, 1), round(min(_FULL - share, held / limit * _FULL), 1)
