"""Who may say what about a decision, and when."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.decision import (
    ABSTAIN,
    Decision,
    DecisionDeliberated,
    DecisionVoted,
    DecisionVotingOpened,
)
from folkmoot.domain.entry import Event
from folkmoot.errors import BAD_VALUE, WrongUse


def commented(decision: Decision, text: str, references: tuple[str, ...] = ()) -> Sequence[Event]:
    if decision.status == "committed":
        raise committed_already(decision)
    if not text.strip():
        raise WrongUse("a comment needs a text", code=BAD_VALUE)
    return [DecisionDeliberated(text, references)]


def voted(decision: Decision, voter: str, option: str, reason: str, now: str) -> Sequence[Event]:
    """Anybody may vote again: the last vote counts."""
    if decision.status == "committed":
        raise committed_already(decision)
    if voter not in (names := [each.name for each in decision.participants]):
        raise WrongUse(f"{voter!r} may not vote on {decision.id}; those who may are {', '.join(names)}")
    if option != ABSTAIN and decision.option(option) is None:
        raise WrongUse(
            f"there is no option {option!r}; vote {options(decision)}, or {ABSTAIN}", code=BAD_VALUE
        )
    if decision.status == "escalated" or decision.is_over(now):
        raise WrongUse(f"the time to vote on {decision.id} is over; the lead decides, or a person")
    opening = [] if decision.voting_since else [DecisionVotingOpened()]
    return [*opening, DecisionVoted(voter, option, reason)]


def abstained_for(decision: Decision, voter: str, reason: str, now: str) -> Sequence[Event]:
    """What becomes of the vote of somebody whose run failed: whatever it voted before stays."""
    if voter in decision.standing_votes or decision.status in ("escalated", "committed"):
        return []
    return [] if decision.is_over(now) else voted(decision, voter, ABSTAIN, reason, now)


def committed_already(decision: Decision) -> WrongUse:
    return WrongUse(
        f"{decision.id} is decided already: {decision.committed_option}, by {decision.committed_by}"
    )


def options(decision: Decision, ids: Sequence[str] = ()) -> str:
    """All options, or these, as people read them."""
    return ", ".join(
        f"{option.id} ({option.text})" if option.text else option.id
        for option in decision.options
        if not ids or option.id in ids
    )
