"""What a project has spent on models, by agent, model and day: a fold over all events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunPruned
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.value import Value
from folkmoot.views.accounting import Spent, Totals, account, total

By = Literal["agent", "model", "day"]


class Cost(Value, omit_defaults=False):
    id: str
    """The agent, the model or the day."""
    totals: Totals


class Spending:
    """Takes the entries of the journal one by one."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Spent]] = {}

    def take(self, entry: Entry) -> None:
        if isinstance(
            entry.event, RunForked | RunPruned
        ):  # another run has paid for it, or nobody knows any more
            self._runs.pop(entry.stream, None)
            return
        for spent in account([entry.draft]):
            if spent.type == "llm":
                self._runs.setdefault(entry.stream, []).append(spent)

    def costs(self, by: By, since: str = "", until: str = "") -> list[Cost]:
        """The dearest first; days in their order."""
        key = _KEYS[by]
        grouped: dict[str, list[Spent]] = {}
        for spent in self._within(since, until):
            grouped.setdefault(key(spent), []).append(spent)
        rows = [Cost(id, _total(group)) for id, group in sorted(grouped.items())]
        return rows if by == "day" else sorted(rows, key=lambda row: -row.totals.cost_usd)

    def totals(self, since: str = "", until: str = "") -> Totals:
        return _total(self._within(since, until))

    def _within(self, since: str, until: str) -> list[Spent]:
        return [
            spent
            for run in self._runs.values()
            for spent in run
            if since <= spent.timestamp and (not until or spent.timestamp < until)
        ]


def _total(spent: list[Spent]) -> Totals:
    return total(spent, len({each.session_id for each in spent}))


_KEYS: dict[By, Callable[[Spent], str]] = {
    "agent": lambda spent: spent.agent_id,
    "model": lambda spent: spent.name,
    "day": lambda spent: spent.timestamp[:10],
}
