"""The list of runs with what each took, its waterfall in miniature, and the figures of the last day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated

import msgspec

from folkmoot.domain.run_row import RunRow, RunSort, RunSummary
from folkmoot.views.run_tree import RunTree
from folkmoot.views.waterfall import WIDTH, axis
from folkmoot.views.work_sessions import title

PAGE = 50
STATES = ("running", "waiting", "failed", "completed", "cancelled", "queued", "interrupted")
OPEN = ("running", "waiting", "queued", "interrupted")
MOMENTS = ("started", "status", "cost", "seconds")
"""What `pulse` needs of each run."""
_LANES = 4
_CELLS = 64
"""How fine a shape is drawn at most."""
_MOST = 2_000
"""Steps of a run that are drawn."""
_PRIORITY = {"transfer": 1, "team": 1, "tool": 2, "advisor": 3, "model": 4, "wait": 5, "fail": 6}
"""Where two would stand in the same place, the higher one does."""


@dataclass(frozen=True)
class Mark:
    """A piece of a run's shape: four lanes, by which people know their runs."""

    kind: str
    lane: int
    left: float
    width: float


def shape(tree: RunTree, until: float) -> list[Mark]:
    """In cells, so that 5,000 steps take no more room than fifty."""
    scale = axis(tree.activity.active(until), max(until, 0.001))
    lanes = {session: number % _LANES for number, session in enumerate(tree.sessions)}
    cells: dict[tuple[int, int], str] = {}
    for step in islice((step for step in tree.by_seq.values() if not step.contains), _MOST):
        home = tree.sessions.get(step.session)
        drawn = "advisor" if home and home.kind == "advisor" else step.kind
        kind = "fail" if step.state == "failed" else drawn
        ends = (step.start, until if step.end is None else step.end)
        first, last = (int(scale.x(at) / WIDTH * (_CELLS - 1)) for at in ends)
        for cell in range(first, max(first + 1, last)):
            place = lanes.get(step.session, 0), cell
            if _PRIORITY[kind] > _PRIORITY.get(cells.get(place, ""), 0):
                cells[place] = kind
    return _merged(cells)


def _merged(cells: dict[tuple[int, int], str]) -> list[Mark]:
    marks: list[tuple[int, int, int, str]] = []
    for (lane, cell), kind in sorted(cells.items()):
        if marks and marks[-1][0] == lane and marks[-1][2] == cell and marks[-1][3] == kind:
            marks[-1] = (lane, marks[-1][1], cell + 1, kind)
        else:
            marks.append((lane, cell, cell + 1, kind))
    unit = 100 / _CELLS
    return [
        Mark(kind, lane, round(first * unit, 1), round((last - first) * unit - 0.4, 1))
        for lane, first, last, kind in marks
    ]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs somebody looks at, as the address says it."""

    q: str = ""
    since: str = ""
    agent: str = ""
    state: str = ""
    sort: RunSort = "-started"
    page: Annotated[int, msgspec.Meta(ge=1)] = 1


@dataclass(frozen=True)
class ListedRun:
    row: RunRow
    title: str
    label: str
    chain: tuple[str, ...]
    part: str
    why: str
    """What it waits for, or why it ended as it did."""
    duration: float
    tokens: int
    cost: float
    marks: list[Mark]


def listed(row: RunRow, run: RunSummary, label: str, tree: RunTree, now: str) -> ListedRun:
    """`now` is the time, for what goes on."""
    if row.status == "pruned":
        return ListedRun(row, "pruned", label, (row.agent,), "", row.error or "", 0.0, 0, 0.0, [])
    duration = tree.elapsed(now) if row.status in ("running", "waiting") else tree.now
    why = row.error or (" · ".join(tree.asks.values()) if row.status == "waiting" else "")
    chain = run.chain or (row.agent.removesuffix(".ai"),)
    named, marks = title(label, [row.request]), shape(tree, duration)
    return ListedRun(row, named, label, chain, run.part, why, duration, run.tokens, run.cost, marks)


@dataclass(frozen=True)
class Pulse:
    """The last day, hour by hour."""

    runs: int
    open: int
    cost: float
    p95: float
    failed: int
    by_hour: tuple[int, ...]
    cost_by_hour: tuple[float, ...]
    p95_by_hour: tuple[float, ...]
    failed_by_hour: tuple[int, ...]


def pulse(runs: Iterable[tuple[str, str, float, float, int]], open: int, now: str) -> Pulse:
    """`runs` are values of `MOMENTS`, each with the number of runs that have them."""
    end = datetime.fromisoformat(now)
    hours: list[list[tuple[str, float, float]]] = [[] for _ in range(24)]
    for started, status, cost, took, count in runs:
        ago = int((end - datetime.fromisoformat(started)) / timedelta(hours=1))
        if 0 <= ago < 24:
            hours[23 - ago] += [(status, cost, took)] * count
    day = [run for hour in hours for run in hour]
    failed = tuple(sum(status == "failed" for status, *_ in hour) for hour in hours)
    return Pulse(
        runs=len(day),
        open=open,
        cost=sum(cost for _, cost, _ in day),
        p95=_p95(day),
        failed=sum(failed),
        by_hour=tuple(map(len, hours)),
        cost_by_hour=tuple(sum(cost for _, cost, _ in hour) for hour in hours),
        p95_by_hour=tuple(map(_p95, hours)),
        failed_by_hour=failed,
    )


def _p95(runs: Sequence[tuple[str, float, float]]) -> float:
    took = sorted(took for status, _, took in runs if status == "completed")
    return took[min(len(took) - 1, int(len(took) * 0.95))] if took else 0.0
