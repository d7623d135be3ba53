"""A decision: a choice that several make together, and its record."""

from __future__ import annotations

import re
from typing import Literal, get_args

from folkmoot.domain.duration import later
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
