"""What a decision is now: a fold over its events."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from folkmoot.domain.decision import Comment, Decision, Vote
from folkmoot.domain.decision_events import (
    DecisionCommitted,
    DecisionDeliberated,
    DecisionEscalated,
    DecisionProposed,
    DecisionVoted,
    DecisionVotingOpened,
)
from folkmoot.domain.entry import Draft
from folkmoot.domain.reference import Kind


def evolve(decision: Decision | None, draft: Draft) -> Decision:
    if isinstance(event := draft.event, DecisionProposed):
        return Decision(
            **asdict(event.proposal), id=event.id, proposed_by=draft.agent_id, proposed_at=draft.ts
        )
    assert decision is not None, "a decision begins with its proposal"
    return _changed(decision, draft)


def _changed(decision: Decision, draft: Draft) -> Decision:
    by, at = draft.agent_id, draft.ts
    match event := draft.event:
        case DecisionDeliberated():
            status = "deliberating" if decision.status == "proposed" else decision.status
            comment = Comment(by, event.text, at, event.references)
            return replace(decision, status=status, comments=(*decision.comments, comment))
        case DecisionVotingOpened():
            return replace(decision, status="voting", voting_since=at)
        case DecisionVoted():
            vote = Vote(event.voter, event.option, at, event.reason)
            return replace(decision, votes=(*decision.votes, vote))
        case DecisionEscalated():
            return replace(decision, status="escalated", escalated_because=event.reason, escalated_at=at)
        case DecisionCommitted():
            return replace(
                decision,
                status="committed",
                committed_option=event.option,
                committed_by=by,
                committed_at=at,
                how=event.how,
                tie_break_by=event.tie_break_by,
                rationale=event.rationale,
            )
    return decision


DECISION: Kind[Decision] = Kind("decision", "decision_", "folkmoot decisions list", evolve)
