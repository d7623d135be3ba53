"""A decision: a choice that several make together, its votes counted, and what can happen to it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, get_args

from folkmoot.domain.duration import later
from folkmoot.domain.entry import Event
from folkmoot.domain.value import Value

WINDOW = 120.0
"""Seconds in which a decision is voted on, if nobody says otherwise."""
ABSTAIN = "abstain"
"""What is voted instead of an option."""

DecisionStatus = Literal["proposed", "deliberating", "voting", "escalated", "committed"]
STATUSES: tuple[DecisionStatus, ...] = get_args(DecisionStatus)
How = Literal["vote", "tie_break", "lead"]
"""What made a decision: the votes by the rule; whoever broke a tie; whoever decided because the votes did not."""
Failing = Literal["tie", "no_result", "window_over"]
"""Why the votes do not decide. `no_result`: all have spoken, and the rule is not met."""
_RULE = re.compile(r"majority|unanimous|quorum:(?P<votes>[1-9][0-9]{0,8})(?P<percent>%?)", re.ASCII)


class Option(Value, omit_defaults=False, forbid_unknown_fields=True):
    id: str
    """By which it is voted for."""
    text: str = ""


class Voter(Value, omit_defaults=False, forbid_unknown_fields=True):
    name: str
    """The id of an agent, or the name of a person."""
    weight: int = 1


class Rule(Value):
    """When votes decide. What somebody weighs counts, and whoever abstains is left out."""

    kind: Literal["majority", "quorum", "unanimous"] = "majority"
    """`majority`: more than half of all are for one option. `quorum`: enough are for any, and most of them for one.
    `unanimous`: all have spoken, for the same one."""
    votes: int = 0
    percent: int = 0
    """How much a quorum is: so many votes, or this part of all, abstentions included."""

    def __str__(self) -> str:
        if self.kind != "quorum":
            return self.kind
        return f"quorum:{self.percent}%" if self.percent else f"quorum:{self.votes}"


def rule_of(written: str) -> Rule | None:
    """`majority`, `unanimous`, `quorum:2` or `quorum:50%`; None if it is none of these."""
    found = _RULE.fullmatch(written)
    if not found:
        return None
    if written in ("majority", "unanimous"):
        return Rule("majority" if written == "majority" else "unanimous")
    number = int(found["votes"])
    return Rule("quorum", percent=number) if found["percent"] else Rule("quorum", votes=number)


class About(Value, omit_defaults=False):
    """What cannot go on before the decision."""

    plan: str = ""
    step: str = ""
    task: str = ""


class Proposal(Value):
    topic: str
    options: tuple[Option, ...]
    participants: tuple[Voter, ...]
    """Who may vote."""
    rule: Rule = Rule()
    window: float = WINDOW
    """Seconds, once for deliberating and once for voting; 0 without end."""
    evidence: tuple[str, ...] = ()
    lead: str = ""
    """Who decides if the votes do not; empty: any agent whose file says `role: lead`. A person always may."""
    risk: Literal["low", "medium", "high"] = "low"
    """If it is high and the votes do not decide, a person must."""
    about: About = About()
    work_session: str = ""


class Comment(Value, omit_defaults=False):
    by: str
    text: str
    at: str
    references: tuple[str, ...] = ()


class Vote(Value, omit_defaults=False):
    voter: str
    option: str
    """Or `ABSTAIN`."""
    at: str
    reason: str = ""


class Decision(Proposal, kw_only=True, omit_defaults=False):
    id: str
    proposed_by: str
    proposed_at: str
    status: DecisionStatus = "proposed"
    comments: tuple[Comment, ...] = ()
    votes: tuple[Vote, ...] = ()
    """All of them, in order; the last one of each voter counts."""
    voting_since: str = ""
    escalated_because: Failing | None = None
    escalated_at: str = ""
    committed_option: str = ""
    committed_by: str = ""
    committed_at: str = ""
    how: How | None = None
    tie_break_by: str = ""
    rationale: str = ""

    @property
    def until(self) -> str:
        """The end of the window; empty: without end. The first vote opens it anew, so that it is never longer than
        twice, and a decision on which nobody says a word comes to an end too."""
        return later(self.voting_since or self.proposed_at, self.window) if self.window else ""

    @property
    def standing_votes(self) -> dict[str, Vote]:
        """The vote of each who has spoken."""
        return {vote.voter: vote for vote in self.votes}

    def is_over(self, now: str) -> bool:
        return bool(self.until) and now >= self.until

    def option(self, id: str) -> Option | None:
        return next((option for option in self.options if option.id == id), None)


class Tally(Value, omit_defaults=False):
    counts: dict[str, int]
    """What is for each option, by weight."""
    abstained: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Who may vote and has not spoken."""
    winner: str = ""
    """The option that meets the rule as it stands now."""
    tied: tuple[str, ...] = ()
    """The options that share the lead, where one more vote for any of them would have decided."""

    @property
    def is_complete(self) -> bool:
        return not self.missing


def tally(proposal: Proposal, votes: dict[str, Vote]) -> Tally:
    """`votes` are those that stand, by voter."""
    weights = {voter.name: voter.weight for voter in proposal.participants}
    spoken = {name: votes[name].option for name in weights if name in votes}
    given: Counter[str] = Counter({option.id: 0 for option in proposal.options})
    for name, option in spoken.items():
        if option != ABSTAIN:
            given[option] += weights[name]
    abstained = tuple(name for name, option in spoken.items() if option == ABSTAIN)
    counts = dict(given)
    most = max(counts.values(), default=0)
    leading = tuple(option for option, count in counts.items() if most and count == most)
    whole = sum(weights.values())
    entitled = whole - sum(weights[name] for name in abstained)
    met, shared = _judged(proposal.rule, counts, entitled, whole)
    return Tally(
        counts,
        abstained,
        tuple(name for name in weights if name not in votes),
        winner=leading[0] if met and len(leading) == 1 else "",
        tied=leading if shared and len(leading) > 1 else (),
    )


def _judged(rule: Rule, counts: dict[str, int], entitled: int, whole: int) -> tuple[bool, bool]:
    """Whether an option that leads alone meets the rule, and whether it is a tie if several lead."""
    cast, most = sum(counts.values()), max(counts.values(), default=0)
    match rule.kind:
        case "majority":
            return 2 * most > entitled, True
        case "unanimous":
            return 0 < most == cast == entitled, False
        case "quorum":
            # Abstentions do not count: those of failed runs would let one voter alone decide for all.
            enough = 100 * cast >= rule.percent * whole if rule.percent else cast >= rule.votes
            return enough, enough


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
