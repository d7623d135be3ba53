"""One agent from request to outcome: advisors, session or team, route, handoff, in this order.

To run a span is: if the journal holds its end, return that; if it holds a beginning, resume; otherwise start.
Sessions do so by folding what their span recorded, and the code here runs the same way every time. So recovery
needs no second path. Only this file may start a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from folkmoot.domain.events import BudgetExceeded, RunStarted, SessionCancelled, SessionStarted
from folkmoot.domain.evidence import ClaimDemoted, ClaimRecorded, EvidenceAttached
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.secrets import Secrets
from folkmoot.domain.spans import ROOT
from folkmoot.domain.team_events import Thread
from folkmoot.orchestration.briefs import build_brief, build_session_started
from folkmoot.orchestration.invocation import Invocation, Run, TokenListeners
from folkmoot.orchestration.kit import InheritedLimits, is_strict
from folkmoot.orchestration.questions import close_follow_up_sessions, freeze_or_close_session
from folkmoot.orchestration.session_ports import SessionInbox, SessionTools
from folkmoot.orchestration.transfer import consult_advisors, describe_failed_stage, follow_route_and_handoff
from folkmoot.ports import Hear
from folkmoot.session.run import Session, SessionPorts
from folkmoot.session.state import Brief
from folkmoot.session.steps import Ask, failed_outcome


class AgentRun(Run, frozen=True, kw_only=True):
    """A run that starts its agents: `await AgentRun(...).begin(started)`."""

    async def begin(self, started: RunStarted) -> Outcome:
        """The whole run; a failure names the stage it happened in."""
        agent, errand = self.graph.agents[started.agent], started.errand
        self.open_budget(ROOT, self.graph.settings.budget, "the run")
        if errand.policy != StepPolicy():
            self.step.open(errand.policy, self.log, self.clock)
            self.open_budget(ROOT, self.step.budget, f"step {errand.step}")
        inv = Invocation(
            agent=agent,
            span=ROOT,
            session=self.id,
            original=started.request,
            blocks=errand.blocks,
            parts=errand.attachments,
            reach=InheritedLimits(strict=is_strict(self.graph, agent), taint=errand.sources),
            thread=Thread(hops=errand.hops, main=True),
            facing=True,
            last=True,
        )
        outcome = await self.start(inv)
        return (
            replace(outcome, error=describe_failed_stage(self, outcome, inv)) if outcome.failed else outcome
        )

    async def start(self, inv: Invocation) -> Outcome:
        """An agent with everything its file declares; children come back here, whatever started them."""
        if inv.cause in ("clarify", "ask"):
            return await self.converse(
                inv, build_brief(self, inv)
            )  # nothing around the conversation runs again
        try:
            return await self._run_declared(inv)
        except asyncio.CancelledError:
            close_follow_up_sessions(self.log, self.chats, inv.span, "the run was cancelled")
            raise

    async def _run_declared(self, inv: Invocation) -> Outcome:
        if inv.parent and (limit := self.ledger.admit(inv.span)):
            self.log.once(inv.place, BudgetExceeded(limit=limit))
            return failed_outcome(inv.agent.id, inv.span, "BUDGET_EXCEEDED", f"budget exceeded: {limit}")
        self.open_budget(inv.span, inv.agent.budget, repr(inv.agent.id))
        advised = await consult_advisors(self, inv)
        if inv.agent.team:
            from folkmoot.orchestration.team import run_team

            own = await run_team(self, advised)
        elif inv.agent.in_parts:
            from folkmoot.orchestration.planned import run_planned_agent

            own = await run_planned_agent(self, advised)
        else:
            own = await self.converse(advised, build_brief(self, advised))
        outcome = await follow_route_and_handoff(self, inv, own)
        freeze_or_close_session(self, inv, own, outcome)
        return outcome

    async def converse(self, inv: Invocation, brief: Brief) -> Outcome:
        log, place = self.log, inv.place
        ports = SessionPorts(
            note=partial(log.note, place),
            journal=log,
            budget=self.ledger,
            inbox=SessionInbox(self, inv),
            tools=SessionTools(self, inv, self.kit(inv)),
            models=self.models,
            clock=self.clock,
            hear=_build_token_listener(self.ear, self.secrets, inv.span) if self.ear else None,
        )
        past = log.of(inv.span)
        session = Session(brief, past, ports)
        if not any(isinstance(event, SessionStarted) for event in past):
            session.happen(build_session_started(self, inv))
        self.under_way[inv.session] = session
        try:
            with self.inbox.attended(inv.span, session.happen):
                outcome = await session.run()
        except asyncio.CancelledError:
            log.note(place, SessionCancelled(reason="the run was cancelled"))
            raise
        finally:
            del self.under_way[inv.session]
        self._record_claims(inv, outcome.report)
        return outcome

    def _record_claims(self, inv: Invocation, report: Report) -> None:
        """Note what a finished session claimed."""
        once = partial(self.log.once, inv.place)
        for number, claim in enumerate(report.claims, start=1):
            once(ClaimRecorded(claim=number, text=claim.text, status=claim.status))
            if claim.status == "verified":
                once(EvidenceAttached(claim=number, evidence=claim.evidence))
            if claim.reason:
                once(ClaimDemoted(claim=number, reason=claim.reason))


def _build_token_listener(ear: TokenListeners, secrets: Secrets, span: str) -> Callable[[Ask], Hear]:
    """How the attempts of the session at this span are heard."""

    def begin(ask: Ask) -> Hear:
        listeners: list[Hear] = [partial(ear.everything, span)]
        if ask.aloud and ear.report:
            listeners.append(ear.report())
        concealed = secrets.in_pieces()

        def hear(piece: str) -> None:
            if shown := concealed(piece):
                for listener in listeners:
                    listener(shown)

        return hear

    return begin
