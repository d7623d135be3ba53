"""The agents of a run: what each does now, as rows of a tree; sessions that can be asked again, or lack a tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.call_events import (
    AdvisorFailed,
    ClarificationAnswered,
    HandoffRejected,
    RouterSelected,
    SessionDestroyed,
    SessionFrozen,
)
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    RUN_ENDS,
    BudgetExceeded,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalRequested, ClientCalled, GateChanged, QuestionAsked
from folkmoot.domain.sentences import missing_in
from folkmoot.domain.team_events import TeamCompleted, TeamMemberFailed, TeamStarted
from folkmoot.domain.value import Value

Status = Literal["waiting", "running", "completed", "failed", "cancelled"]
_HEARD = 200
"""Characters of a coming answer that are kept to be shown."""
_CAUSES = {"0": "", "call": "sub", "mission": "sub", "to": "sub", "summary": "sub", "try": "planner"}


@dataclass(eq=False)
class Branch:
    """One agent, asked once; a member of a team has a session in every cycle."""

    id: str
    """Of its latest session."""
    agent: str
    span: str
    status: Status = "waiting"
    turn: int = 0
    asking: str = ""
    """The model that is being asked."""
    attempt: int = 1
    tools: dict[int, str] = field(default_factory=dict)
    """The calls under way, by position in the answer."""
    heard: str = ""
    """The end of the answer that is coming in."""
    note: str = ""
    """How it left, or what went wrong last."""
    lack: str = ""
    """What its last answer lacks."""
    tokens: int = 0
    cost_usd: float = 0.0
    started_at: str = ""
    ended_at: str = ""
    children: list[Branch] = field(default_factory=list, repr=False)

    @property
    def cause(self) -> str:
        """Why it was asked: the pattern, as in the events; empty for the root."""
        last = self.span.rpartition("/")[2].partition(":")[0]
        return _CAUSES.get(last, last)

    @property
    def doing(self) -> str:
        if self.tools:
            counts = Counter(self.tools.values())
            return ", ".join(f"{tool} ×{times}" if times > 1 else tool for tool, times in counts.items())
        if self.asking:
            return self.asking + (f", attempt {self.attempt}" if self.attempt > 1 else "")
        if self.status == "waiting" and self.children:
            awaited = [child.agent for child in self.children if not child.ended_at]
            return f"waits for {', '.join(awaited) if len(awaited) < 4 else f'{len(awaited)} agents'}"
        return ""

    def apply(self, draft: Draft) -> None:
        event, ts = draft.event, draft.ts
        match event:
            case SessionStarted():
                self.started_at = self.started_at if self.turn else ts
                self.id, self.status, self.ended_at, self.note = draft.session_id, "running", "", ""
            case TeamStarted():
                self.status, self.ended_at, self.note = "waiting", "", ""
            case SessionCompleted():
                self.finish("completed", ts, self.lack)
            case SessionFailed(outcome=outcome):
                self.finish("failed", ts, outcome.error)
            case TeamCompleted(outcome=outcome):
                self.finish("failed" if outcome.failed else "completed", ts, outcome.error)
            case SessionCancelled(reason=reason):
                self.finish("cancelled", ts, reason)
            case AdvisorFailed(error=error) | HandoffRejected(error=error) | BudgetExceeded(limit=error):
                if self.status == "waiting":
                    self.finish("failed", ts, error)
            case TeamMemberFailed(reason=reason):
                self.status, self.note = "failed", reason
            case _:
                self._work(event)

    def _work(self, event: Event) -> None:
        match event:
            case LlmRequest():
                self.turn, self.asking, self.attempt, self.heard = event.turn, event.model, event.attempt, ""
            case LlmResponse(usage=usage):
                lack = missing_in(event)
                self.lack = f"the answer is {lack}" if lack else ""
                self.tokens += usage.tokens_in + usage.tokens_out
                self.cost_usd += event.cost_usd
                self.asking, self.heard, self.note = "", "", self.lack
            case LlmFailed(error=error):
                self.asking, self.heard, self.note = "", "", error
            case ToolStarted():
                self.tools[event.call] = event.tool
            case ToolFinished() | ToolFailed() | ToolInDoubt():
                self.tools.pop(event.call, None)
                if isinstance(event, ToolFailed):
                    self.note = f"{event.tool}: {event.text}"
                elif isinstance(event, ToolInDoubt):
                    self.note = f"{event.tool} may or may not have happened"
            case RouterSelected(agent=agent):
                self.note = f"routes to {agent}"
            case ApprovalRequested(id=id) | ClientCalled(id=id) | QuestionAsked(id=id):
                self.note = f"waits for someone: {id}"

    def finish(self, status: Status, ts: str, note: str = "") -> None:
        self.status, self.ended_at, self.note = status, ts, note
        self.asking, self.heard, self.tools = "", "", {}

    def hear(self, text: str) -> None:
        """A piece of an answer that is coming in; it is shown and forgotten."""
        self.heard = (self.heard + text)[-_HEARD:]


class Row(msgspec.Struct, frozen=True):
    guide: str
    """The lines that lead from the parent to this branch."""
    branch: Branch
    parent: str | None = None
    """The session of the branch above."""


class SessionRow(Value, omit_defaults=False):
    id: str
    status: str
    agent_id: str
    parent_id: str | None
    cause: str | None
    span: str
    turns: int
    tokens: int
    cost_usd: float
    started_at: str
    ended_at: str | None
    error: str | None


def rows(branch: Branch, guide: str = "", below: str = "", parent: str | None = None) -> Iterator[Row]:
    """A branch and all below it, each with the lines that a terminal draws before it."""
    yield Row(guide, branch, parent)
    for child in branch.children:
        last = child is branch.children[-1]
        lines = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from rows(child, below + lines[0], below + lines[1], branch.id)


def open_rows(all_rows: list[Row]) -> list[Row]:
    """Only the branches that are not over, and those on the way to them."""
    spans = [row.branch.span for row in all_rows if not row.branch.ended_at]
    return [row for row in all_rows if any(f"{span}/".startswith(f"{row.branch.span}/") for span in spans)]


def status_of(branch: Branch, unended: str) -> str:
    """`unended` says what a session without an end is: running, waiting or interrupted."""
    return branch.status if branch.ended_at or unended == "running" else unended


def session_rows(root: Branch, unended: str) -> list[SessionRow]:
    """Children stand after their parents."""
    return [_session_row(row.branch, row.parent, unended) for row in rows(root)]


def _session_row(branch: Branch, parent: str | None, unended: str) -> SessionRow:
    return SessionRow(
        id=branch.id,
        status=status_of(branch, unended),
        agent_id=branch.agent,
        parent_id=parent,
        cause=branch.cause or None,
        span=branch.span,
        turns=branch.turn,
        tokens=branch.tokens,
        cost_usd=branch.cost_usd,
        started_at=branch.started_at,
        ended_at=branch.ended_at or None,
        error=branch.note if branch.status in ("failed", "cancelled") else None,
    )


class LiveChild(Value, omit_defaults=False):
    id: str
    """Of its session: the name under which it is asked and destroyed."""
    agent_id: str
    parent_id: str
    """The session that may ask it."""
    span: str
    turns_remaining: int
    clarifications: int = 0
    """How often it was asked so far."""


def live_children(drafts: Iterable[Draft]) -> list[LiveChild]:
    """Finished sessions that can still be asked, in the order in which they were frozen; none once the run is over."""
    live: dict[str, LiveChild] = {}
    for draft in drafts:
        match draft.event:
            case SessionFrozen() as event:
                live[event.session] = LiveChild(
                    event.session, event.agent, event.parent, draft.span, event.turns_remaining
                )
            case ClarificationAnswered() as event if child := live.get(event.child):
                live[event.child] = replace(
                    child, turns_remaining=event.turns_remaining, clarifications=child.clarifications + 1
                )
            case SessionDestroyed() as event:
                live.pop(event.session, None)
            case event if isinstance(event, RUN_ENDS):
                live.clear()
    return list(live.values())


class Gated(Value, omit_defaults=False):
    id: str
    """The session."""
    status: str
    agent_id: str
    tools: tuple[str, ...]
    """By their names on the wire."""


def gates(drafts: Iterable[Draft]) -> list[Gated]:
    """One row for each session that has a tool less."""
    agents: dict[str, str] = {}
    gated: dict[str, frozenset[str]] = {}
    for draft in drafts:
        if isinstance(event := draft.event, GateChanged):
            agents[event.session] = draft.agent_id
            before = gated.get(event.session, frozenset())
            gated[event.session] = (before | {*event.gated}) - {*event.freed}
    return [Gated(id, "gated", agents[id], tuple(sorted(tools))) for id, tools in gated.items() if tools]
