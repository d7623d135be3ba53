"""The result of a run, as programs read it: everything in it is folded from the run's events when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import (
    READING,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunPruned,
    RunStarted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
)
from folkmoot.domain.evidence import minted
from folkmoot.domain.inbox import Item, inbox
from folkmoot.domain.message import Message
from folkmoot.domain.report import Outcome, Report, Selection
from folkmoot.domain.sources import Sources, joined
from folkmoot.domain.spans import conversation, without_cycle
from folkmoot.domain.team_events import TeamBroadcast, TeamStarted
from folkmoot.domain.trace import trace_id
from folkmoot.views.costs import Spent, Totals, account, total
from folkmoot.views.optree import SessionNode, op_tree
from folkmoot.views.plans import PlanView, plans
from folkmoot.views.run_tree import STATUS, RunTree

_End = RunCompleted | RunFailed | RunCancelled | RunParked | RunPruned


class Result:
    def __init__(self, run_id: str, drafts: Sequence[Draft], *, unended: str = "interrupted") -> None:
        self.run_id = run_id
        self._drafts = drafts
        self._unended = unended
        """What it is as long as it has no end: running, queued or interrupted."""

    def __repr__(self) -> str:
        return f"<Result of {self.run_id}: {self.status}>"

    @cached_property
    def _end(self) -> _End | None:
        last = self._drafts[-1].event if self._drafts else None
        return last if isinstance(last, _End) else None

    @cached_property
    def _outcome(self) -> Outcome | None:
        return self._end.outcome if isinstance(self._end, RunCompleted | RunFailed) else None

    @property
    def status(self) -> str:
        return STATUS[type(self._end)] if self._end else self._unended

    @property
    def work_session(self) -> str:
        return self._drafts[0].work_session_id if self._drafts else ""

    @property
    def errand(self) -> Errand:
        started = self._drafts[0].event if self._drafts else None
        return started.errand if isinstance(started, RunStarted) else Errand()

    @property
    def sources(self) -> Sources:
        """What its sessions have read that nobody vouches for or that must not get out."""
        read = (draft.event for draft in self._drafts if isinstance(draft.event, READING))
        return joined(self.errand.sources, *(event.sources for event in read))

    @property
    def trace(self) -> str:
        """What it is called in OpenTelemetry."""
        return trace_id(self.run_id, self.errand.traceparent)

    @property
    def success(self) -> bool:
        return isinstance(self._end, RunCompleted)

    @property
    def error(self) -> str | None:
        match self._end:
            case RunFailed(error=error):
                return error
            case RunCancelled(reason=reason):
                return reason
            case _:
                return None

    @property
    def stop_reason(self) -> str | None:
        match self._end:
            case RunCompleted():
                return "OBJECTIVE_ACHIEVED"
            case RunFailed(stop_reason=reason):
                return reason
            case RunCancelled():
                return "CANCELLED"
            case _:
                return None

    @property
    def waiting(self) -> list[str]:
        return list(self._end.waiting) if isinstance(self._end, RunParked) else []

    @cached_property
    def inbox(self) -> list[Item]:
        """What the run waits for someone to say."""
        return [item for item in inbox(self.run_id, self._drafts).values() if item.is_open]

    @property
    def final_agent_id(self) -> str | None:
        return self._outcome.agent if self._outcome else None

    @property
    def final_report(self) -> Report | None:
        return self._outcome.report if self._outcome else None

    @cached_property
    def router_selection(self) -> Selection | None:
        """What the root agent chose, if it routed."""
        for draft in self._drafts:
            if isinstance(draft.event, RouterSelected) and draft.session_id == self.run_id:
                return Selection(agent=draft.event.agent, message=draft.event.message)
        return None

    @cached_property
    def conversation(self) -> list[dict[str, Any]]:
        """The root agent's own conversation."""
        said: list[dict[str, Any]] = []
        for draft in self._drafts:
            if draft.session_id != self.run_id:
                continue
            match draft.event:
                case SessionStarted(request=request, parts=parts):
                    said.append(msgspec.to_builtins(Message("user", request, parts=parts)))
                case LlmResponse(message=message):
                    said.append(msgspec.to_builtins(message))
                case ToolFinished() | ToolFailed() as event:
                    said.append({"role": "tool", "tool": event.tool, "call": event.call, "text": event.text})
        return said

    @cached_property
    def accounting(self) -> list[Spent]:
        return account(self._drafts)

    @cached_property
    def totals(self) -> Totals:
        started = {
            conversation(draft.span) for draft in self._drafts if isinstance(draft.event, SessionStarted)
        }
        return total(self.accounting, len(started))

    @cached_property
    def op_tree(self) -> SessionNode | None:
        return op_tree(RunTree(self._drafts), self._drafts)

    @cached_property
    def teams(self) -> list[TeamTranscript]:
        """Who sat in each team of the run, and what was said in it."""
        return team_transcripts(self._drafts)

    @cached_property
    def plans(self) -> list[PlanView]:
        """What its agents set out to do, and how far they came."""
        return plans(self._drafts)

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """Every tool result of the run by the id that the runtime gave it, and who got it where."""
        return [
            msgspec.to_builtins(minted(draft.span, draft.event))
            | {"agentId": draft.agent_id, "sessionId": draft.session_id}
            for draft in self._drafts
            if isinstance(draft.event, ToolFinished)
        ]

    def to_json(self) -> dict[str, Any]:
        """The shape that `--json` prints."""
        report = self.final_report
        parts = {
            "runId": self.run_id,
            "status": self.status,
            "success": self.success,
            "error": self.error,
            "stopReason": self.stop_reason,
            "waiting": self.waiting,
            "finalAgentId": self.final_agent_id,
            "finalReport": report and _report(report),
            "routerSelection": self.router_selection,
            "conversation": self.conversation,
            "accounting": self.accounting,
            "totals": self.totals,
            "opTree": self.op_tree,
            "evidence": self.evidence,
            "teams": self.teams,
            "plans": self.plans,
        }
        shown = msgspec.to_builtins(parts)
        assert isinstance(shown, dict)
        return shown


def _report(report: Report) -> dict[str, Any]:
    return {
        "format": report.format,
        "content": report.content,
        "contentJson": report.content_json,
        "claims": msgspec.to_builtins(report.claims),
        "metadata": report.metadata,
    }


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """One broadcast, with when it was made."""

    order: int
    member_id: str
    type: str
    message: str
    turn_count: int
    timestamp: str
    terminal: bool
    outcome: str


class TeamTranscript(msgspec.Struct, rename="camel"):
    span: str
    """Where in the run the team worked."""
    lead: str
    members: list[str]
    broadcasts: list[Said] = []


def team_transcripts(drafts: Iterable[Draft]) -> list[TeamTranscript]:
    teams: dict[str, TeamTranscript] = {}
    for draft in drafts:
        match draft.event:
            case TeamStarted(lead=lead, members=members):
                span = without_cycle(draft.span)  # a team within a team begins anew in each of its parts
                teams.setdefault(span, TeamTranscript(span, lead, [*members]))
            case TeamBroadcast() as event:
                team = without_cycle(draft.span).rpartition("/")[0]
                teams[team].broadcasts.append(_said(event, draft.ts))
    for transcript in teams.values():
        transcript.broadcasts.sort(key=lambda said: said.order)
    return list(teams.values())


def _said(event: TeamBroadcast, ts: str) -> Said:
    return Said(
        order=event.order,
        member_id=event.member_id,
        type=event.kind,
        message=event.message,
        turn_count=event.turn_count,
        timestamp=ts,
        terminal=event.terminal,
        outcome=event.outcome,
    )
