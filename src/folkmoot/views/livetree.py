"""The tree of a run while it grows: one branch for each agent that was asked, with what it does now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    AdvisorFailed,
    BudgetExceeded,
    HandoffRejected,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RouterSelected,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalRequested, ClientCalled, QuestionAsked
from folkmoot.domain.spans import without_cycle
from folkmoot.domain.team_events import TeamCompleted, TeamMemberFailed, TeamStarted
from folkmoot.views.lack import lacking

Status = Literal["waiting", "running", "completed", "failed", "cancelled"]
_HEARD = 200
"""Characters of a coming answer that are kept to be shown."""


class Branch(msgspec.Struct):
    """One agent, asked once."""

    id: str
    """Of its session."""
    agent: str
    span: str
    status: Status = "waiting"
    turn: int = 0
    asking: str = ""
    """The model that is being asked."""
    attempt: int = 1
    tools: dict[int, str] = {}
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
    children: list[Branch] = []

    @property
    def cause(self) -> str:
        """Why it was asked: the pattern, as in the events; empty for the root."""
        last = self.span.rpartition("/")[2].partition(":")[0]
        return {
            "0": "",
            "call": "sub",
            "mission": "sub",
            "to": "sub",
            "summary": "sub",
            "try": "planner",
        }.get(last, last)

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


class Row(msgspec.Struct, frozen=True):
    guide: str
    """The lines that lead from the parent to this branch."""
    branch: Branch


class LiveTree:
    """Takes a run's events one by one, in order."""

    def __init__(self) -> None:
        self.root: Branch | None = None
        self.ended = False
        self._branches: dict[str, Branch] = {}

    def take(self, draft: Draft) -> None:
        if not draft.span:
            return
        branch = self._branches.get(without_cycle(draft.span)) or self._grow(draft)
        match draft.event:
            case RunFailed(error=note) | RunCancelled(reason=note):
                self._close("failed" if isinstance(draft.event, RunFailed) else "cancelled", draft.ts, note)
            case RunCompleted() | RunParked():
                self.ended = True
            case _ if not _came_or_went(branch, draft):
                _work(branch, draft.event)

    def hear(self, span: str, text: str) -> None:
        """A piece of an answer that is coming in; it is shown and forgotten."""
        if branch := self._branches.get(without_cycle(span)):
            branch.heard = (branch.heard + text)[-_HEARD:]

    def _close(self, status: Status, ts: str, note: str) -> None:
        """A root that was stopped before its own session began gets no end of its own."""
        self.ended = True
        for branch in self._branches.values():
            if not branch.ended_at:
                _end(branch, status, ts, note)

    def _grow(self, draft: Draft) -> Branch:
        span = without_cycle(draft.span)
        branch = Branch(draft.session_id, draft.agent_id, span, started_at=draft.ts)
        self._branches[span] = branch
        if parent := self._parent(span):
            parent.children.append(branch)
        else:
            self.root = self.root or branch
        return branch

    def _parent(self, span: str) -> Branch | None:
        while span := span.rpartition("/")[0]:
            if span in self._branches:
                return self._branches[span]
        return None


def live_tree(drafts: Iterable[Draft]) -> LiveTree:
    tree = LiveTree()
    for draft in drafts:
        tree.take(draft)
    return tree


def rows(branch: Branch, guide: str = "", below: str = "") -> Iterator[Row]:
    """A branch and all below it, each with the lines that a terminal draws before it."""
    yield Row(guide, branch)
    for child in branch.children:
        last = child is branch.children[-1]
        yield from rows(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


def open_rows(all_rows: list[Row]) -> list[Row]:
    """Only the branches that are not over, and those on the way to them."""
    spans = [row.branch.span for row in all_rows if not row.branch.ended_at]
    return [row for row in all_rows if any(f"{span}/".startswith(f"{row.branch.span}/") for span in spans)]


def _came_or_went(branch: Branch, draft: Draft) -> bool:
    match draft.event:
        case SessionStarted():
            _begin(branch, draft)
        case TeamStarted():
            branch.status, branch.ended_at, branch.note = "waiting", "", ""
        case SessionCompleted():
            _end(branch, "completed", draft.ts, branch.lack)
        case TeamCompleted(outcome=outcome):
            _end(branch, "failed" if outcome.failed else "completed", draft.ts, outcome.error)
        case SessionFailed(outcome=outcome):
            _end(branch, "failed", draft.ts, outcome.error)
        case SessionCancelled(reason=reason):
            _end(branch, "cancelled", draft.ts, reason)
        case AdvisorFailed(error=error) | HandoffRejected(error=error) | BudgetExceeded(limit=error):
            if branch.status == "waiting":
                _end(branch, "failed", draft.ts, error)
        case _:
            return False
    return True


def _begin(branch: Branch, draft: Draft) -> None:
    """A member of a team, and its lead, begin anew in every cycle, each time under a new session."""
    branch.started_at = branch.started_at if branch.turn else draft.ts
    branch.id, branch.status, branch.ended_at, branch.note = draft.session_id, "running", "", ""


def _end(branch: Branch, status: Status, ts: str, note: str = "") -> None:
    branch.status, branch.ended_at, branch.note = status, ts, note
    branch.asking, branch.heard, branch.tools = "", "", {}


def _work(branch: Branch, event: Event) -> None:
    match event:
        case LlmRequest():
            branch.turn, branch.asking, branch.attempt = event.turn, event.model, event.attempt
            branch.heard = ""
        case LlmResponse():
            lack = lacking(event)
            branch.lack = f"the answer is {lack}" if lack else ""
            branch.asking, branch.heard, branch.note = "", "", branch.lack
            branch.tokens += event.usage.tokens_in + event.usage.tokens_out
            branch.cost_usd += event.cost_usd
        case LlmFailed():
            branch.asking, branch.heard, branch.note = "", "", event.error
        case ToolStarted():
            branch.tools[event.call] = event.tool
        case ToolFinished():
            branch.tools.pop(event.call, None)
        case ToolFailed():
            branch.tools.pop(event.call, None)
            branch.note = f"{event.tool}: {event.text}"
        case ToolInDoubt():
            branch.tools.pop(event.call, None)
            branch.note = f"{event.tool} may or may not have happened"
        case TeamMemberFailed():
            branch.status, branch.note = "failed", event.reason
        case ApprovalRequested() | ClientCalled() | QuestionAsked() | RouterSelected():
            branch.note = _turned_to(event)


def _turned_to(event: ApprovalRequested | ClientCalled | QuestionAsked | RouterSelected) -> str:
    if isinstance(event, RouterSelected):
        return f"routes to {event.agent}"
    return f"waits for someone: {event.id}"
