"""The list of runs with what each took, and the pulse of the last day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunForked,
    RunStarted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalRequested, ClientCalled, QuestionAsked
from folkmoot.domain.run_row import DECISIONS, RunRow, RunSort, RunSummary
from folkmoot.domain.team_events import TeamStarted
from folkmoot.domain.text import one_line
from folkmoot.views.activity import Activity
from folkmoot.views.shape import Mark, Shape
from folkmoot.views.work_sessions import title

PAGE = 50
STATES = ("running", "waiting", "failed", "completed", "cancelled", "queued", "interrupted")
OPEN = ("running", "waiting", "queued", "interrupted")
MOMENTS = ("started", "status", "cost", "seconds")
"""What `pulse` needs of each run."""


@dataclass
class RunShape:
    """How one run went, for the picture in its row, and what it asks; folded from its entries."""

    began: float = 0.0
    position: int = 0
    now: float = 0.0
    """Seconds from its beginning to its last event."""
    shape: Shape = field(default_factory=Shape)
    activity: Activity = field(default_factory=Activity)
    asks: dict[str, str] = field(default_factory=dict)
    """What it waits for, by the names in the inbox."""

    def take(self, entry: Entry) -> None:
        draft = entry.draft
        at = datetime.fromisoformat(draft.ts).timestamp()
        if isinstance(draft.event, RunStarted):
            self.began = at
        elif isinstance(draft.event, RunForked):
            self.began = (
                at - self.now
            )  # what happened so far happened to another run, and nobody waited since then
        self.position, self.now = entry.seq, max(self.now, at - self.began)
        self.activity.take(draft, self.now)
        _fold(self, draft, draft.event)


def _fold(summary: RunShape, draft: Draft, event: Event) -> None:
    shape, now, session = summary.shape, summary.now, draft.session_id
    match event:
        case SessionStarted(cause=cause) | TeamStarted(cause=cause):
            shape.session(session, advises=cause == "advisor")
        case LlmRequest(turn=turn):
            shape.begin((session, turn, 0), "model", now)
        case LlmResponse(turn=turn):
            shape.end((session, turn, 0), now)
        case LlmFailed(turn=turn):
            shape.end((session, turn, 0), now, failed=True)
        case RouterSelected():
            shape.begin((session, 0, 0), "transfer", now)
            shape.end((session, 0, 0), now)
        case _:
            _fold_calls(summary, session, event)


def _fold_calls(summary: RunShape, session: str, event: Event) -> None:
    shape, now = summary.shape, summary.now
    match event:
        case ToolStarted(turn=turn, call=call, tool=tool) if not tool.startswith("agent__"):
            shape.begin((session, turn, call), "tool", now)
        case ToolFinished(turn=turn, call=call) | ToolFailed(turn=turn, call=call):
            shape.end((session, turn, call), now, failed=isinstance(event, ToolFailed))
        case ApprovalRequested(id=id, tool=tool):
            summary.asks[id] = f"asks to call {tool.replace('__', '.')}"
            shape.begin((id, 0, 0), "wait", now, session)
        case ClientCalled(id=id, tool=tool):
            summary.asks[id] = f"waits for {tool} of its caller"
            shape.begin((id, 0, 0), "wait", now, session)
        case QuestionAsked(id=id, question=question):
            summary.asks[id] = f"asks: {one_line(question, 60)}"
            shape.begin((id, 0, 0), "wait", now, session)
        case _ if event.type in DECISIONS:
            id = getattr(event, "id", "")
            summary.asks.pop(id, None)
            shape.end((id, 0, 0), now)


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
    marks: tuple[Mark, ...]


def listed(row: RunRow, run: RunSummary, label: str, known: RunShape, now: float) -> ListedRun:
    """`now` is the time, for what goes on."""
    if row.status == "pruned":
        return ListedRun(row, "pruned", label, (row.agent,), "", row.error or "", 0.0, 0, 0.0, ())
    duration = known.now if row.status not in ("running", "waiting") else max(known.now, now - known.began)
    why = row.error or (" · ".join(known.asks.values()) if row.status == "waiting" else "")
    chain = run.chain or (row.agent.removesuffix(".ai"),)
    marks = known.shape.marks(duration, known.activity.active(duration))
    named = title(label, [row.request])
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
