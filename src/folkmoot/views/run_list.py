"""The list of runs with what each took, and the pulse of the last day: a fold over the whole journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec

from folkmoot.domain.duration import later
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RouterSelected,
    RunStarted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.inbox_events import ApprovalRequested, ClientCalled, QuestionAsked
from folkmoot.domain.run_row import DECISIONS, RunRow
from folkmoot.domain.spans import is_in_chain
from folkmoot.domain.team_events import TeamStarted
from folkmoot.domain.text import one_line
from folkmoot.domain.work_session_events import WorkSessionLabelled
from folkmoot.views.activity import Activity
from folkmoot.views.shape import Mark, Shape
from folkmoot.views.work_sessions import title

TYPES = (
    *("run.started", "run.forked", "session.started", "llm.request", "llm.response", "llm.failed"),
    *(
        "work_session.labelled",
        "tool.started",
        "tool.finished",
        "tool.failed",
        "router.selected",
        "run.completed",
        "run.failed",
    ),
    *("approval.requested", "client.called", "question.asked", "run.cancelled", "run.parked", *DECISIONS),
    *(
        "session.completed",
        "session.failed",
        "session.cancelled",
        "team.started",
        "team.completed",
        "tool.in_doubt",
    ),
)
"""What the list is made of."""
PAGE = 50
STATES = ("running", "waiting", "failed", "completed", "cancelled", "queued", "interrupted")
OPEN = ("running", "waiting", "queued", "interrupted")
Sort = Literal["-started", "started", "-duration", "duration", "-tokens", "tokens", "-cost", "cost"]


@dataclass
class Summary:
    """What the events of one run come to."""

    began: float
    label: str
    request: str
    part: str = ""
    """Of a plan, if it carries one out."""
    chain: list[str] = field(default_factory=list)
    """The agents that the request went through."""
    tokens: int = 0
    cost: float = 0.0
    now: float = 0.0
    """Seconds from its beginning to its last event."""
    shape: Shape = field(default_factory=Shape)
    activity: Activity = field(default_factory=Activity)
    asks: dict[str, str] = field(default_factory=dict)
    """What it waits for, by the names in the inbox."""

    def take_over(self, at: float) -> None:
        """What happened so far happened to another run: it has paid for it, and nobody waited since then."""
        self.began, self.tokens, self.cost = at - self.now, 0, 0.0


class RunList:
    """Takes the entries of the journal one by one."""

    def __init__(self) -> None:
        self.position = 0
        self.summaries: dict[str, Summary] = {}
        self._labels: dict[str, str] = {}
        """Of work sessions."""
        self._ended: dict[str, ListedRun] = {}
        """What is shown of runs that have ended, which stays as it is."""

    def take(self, entry: Entry) -> None:
        self.position = entry.seq
        self._ended.pop(entry.stream, None)
        draft = entry.draft
        at = datetime.fromisoformat(draft.ts).timestamp()
        match draft.event:
            case RunStarted(request=request, errand=errand):
                label = errand.label or self._labels.get(draft.work_session_id, "")
                part = f"step {errand.step}" if errand.step else ""
                self.summaries[entry.stream] = Summary(at, label, request, part)
            case RunForked() if summary := self.summaries.get(entry.stream):
                summary.take_over(at)
            case WorkSessionLabelled(label=label):
                self._labels[draft.work_session_id] = label
        if summary := self.summaries.get(entry.stream):
            summary.now = max(summary.now, at - summary.began)
            summary.activity.take(draft, summary.now)
            _fold(summary, draft, draft.event)

    def listed(self, rows: Iterable[RunRow], now: float) -> list[ListedRun]:
        """`now` is the time, for what goes on."""
        return [self._listed(row, now) for row in rows]

    def _listed(self, row: RunRow, now: float) -> ListedRun:
        known = self._ended.get(row.run_id)
        if known is None or known.row is not row:
            known = _listed(row, self.summaries.get(row.run_id), now)
            if row.status not in OPEN:
                self._ended[row.run_id] = known
        return known


def _fold(summary: Summary, draft: Draft, event: Event) -> None:
    shape, now, session = summary.shape, summary.now, draft.session_id
    match event:
        case SessionStarted(cause=cause) | TeamStarted(cause=cause):
            shape.session(session, advises=cause == "advisor")
            if is_in_chain(draft.span) and draft.agent_id not in summary.chain:
                summary.chain.append(draft.agent_id)
        case LlmRequest(turn=turn):
            shape.begin((session, turn, 0), "model", now)
        case LlmResponse(turn=turn, usage=usage, cost_usd=cost):
            shape.end((session, turn, 0), now)
            summary.tokens += usage.tokens_in + usage.tokens_out
            summary.cost += cost
        case LlmFailed(turn=turn):
            shape.end((session, turn, 0), now, failed=True)
        case RouterSelected():
            shape.begin((session, 0, 0), "transfer", now)
            shape.end((session, 0, 0), now)
        case _:
            _fold_calls(summary, session, event)


def _fold_calls(summary: Summary, session: str, event: Event) -> None:
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
    sort: Sort = "-started"
    page: Annotated[int, msgspec.Meta(ge=1)] = 1


@dataclass(frozen=True)
class ListedRun:
    row: RunRow
    title: str
    chain: tuple[str, ...]
    part: str
    why: str
    """What it waits for, or why it ended as it did."""
    duration: float
    tokens: int
    cost: float
    marks: tuple[Mark, ...]


def _listed(row: RunRow, known: Summary | None, now: float) -> ListedRun:
    if known is None:
        return ListedRun(row, row.request or "pruned", (row.agent,), "", row.error or "", 0.0, 0, 0.0, ())
    duration = known.now if row.status not in ("running", "waiting") else max(known.now, now - known.began)
    why = row.error or (" · ".join(known.asks.values()) if row.status == "waiting" else "")
    named = title(known.label, [known.request])
    chain = tuple(known.chain) or (row.agent.removesuffix(".ai"),)
    cost, tokens = known.cost, known.tokens
    marks = known.shape.marks(duration, known.activity.active(duration))
    return ListedRun(row, named, chain, known.part, why, duration, tokens, cost, marks)


def matching(runs: Iterable[ListedRun], wanted: Wanted, since: str) -> list[ListedRun]:
    """`since` is a moment as events have it; empty: all."""
    words = wanted.q.lower().split()
    found = [
        run
        for run in runs
        if run.row.started_at >= since
        and wanted.state in ("", run.row.status)
        and wanted.agent in ("", run.row.agent.removesuffix(".ai"), *run.chain)
        and all(word in _text(run) for word in words)
    ]
    key = wanted.sort.removeprefix("-")
    if key in ("duration", "tokens", "cost"):
        found.sort(key=lambda run: getattr(run, key), reverse=wanted.sort.startswith("-"))
    elif wanted.sort == "started":
        found.reverse()
    return found


def _text(run: ListedRun) -> str:
    return " ".join((run.title, run.row.run_id, run.row.request, *run.chain, run.why)).lower()


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


def pulse(runs: Sequence[ListedRun], now: str) -> Pulse:
    end = datetime.fromisoformat(now)
    hours: list[list[ListedRun]] = [[] for _ in range(24)]
    since = later(now, -86_400)
    for run in runs:
        if run.row.started_at < since:
            continue
        ago = int((end - datetime.fromisoformat(run.row.started_at)) / timedelta(hours=1))
        if 0 <= ago < 24:
            hours[23 - ago].append(run)
    day = [run for hour in hours for run in hour]
    failed = tuple(sum(run.row.status == "failed" for run in hour) for hour in hours)
    return Pulse(
        runs=len(day),
        open=sum(run.row.status in OPEN for run in runs),
        cost=sum(run.cost for run in day),
        p95=_p95(day),
        failed=sum(failed),
        by_hour=tuple(map(len, hours)),
        cost_by_hour=tuple(sum(run.cost for run in hour) for hour in hours),
        p95_by_hour=tuple(map(_p95, hours)),
        failed_by_hour=failed,
    )


def _p95(runs: Sequence[ListedRun]) -> float:
    took = sorted(run.duration for run in runs if run.row.status == "completed")
    return took[min(len(took) - 1, int(len(took) * 0.95))] if took else 0.0
