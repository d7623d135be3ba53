"""What can happen to a decision, in its own stream."""

from __future__ import annotations

from folkmoot.domain.decision import Failing, How, Proposal
from folkmoot.domain.event import Event
from folkmoot.domain.tally import Tally


class DecisionProposed(Event):
    """Somebody puts a choice before its participants."""

    type = "decision.proposed"
    id: str
    proposal: Proposal


class DecisionDeliberated(Event):
    """Somebody says something about it."""

    type = "decision.deliberated"
    text: str
    references: tuple[str, ...] = ()
    """Ids or addresses of what the text is about."""


class DecisionVotingOpened(Event):
    """The first vote opens the voting, in the same step; the window counts from here."""

    type = "decision.voting_opened"


class DecisionVoted(Event):
    """A participant votes, or abstains. The last vote before the commit counts."""

    type = "decision.voted"
    voter: str
    """Whose vote it is: whoever made the call, unless the runtime abstains for one whose run failed."""
    option: str
    reason: str = ""


class DecisionEscalated(Event):
    """The votes do not decide; the lead must, or a person."""

    type = "decision.escalated"
    reason: Failing
    tally: Tally


class DecisionCommitted(Event):
    """The choice is made, for good. This is its record in the timeline of the work session."""

    type = "decision.committed"
    option: str
    how: How
    rule: str
    """As it is written: `quorum:2`."""
    tally: Tally
    rationale: str = ""
    tie_break_by: str = ""
    summary: str = ""
    """The record in a sentence."""
