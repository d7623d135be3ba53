"""What may be put to the vote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from folkmoot.coordination.author import RUNTIME
from folkmoot.domain.decision import ABSTAIN, Decision, DecisionProposed, Proposal, Rule, rule_of
from folkmoot.domain.entry import Event
from folkmoot.domain.text import one_line
from folkmoot.errors import BAD_VALUE, WrongUse

HEAVIEST = 1_000_000
LONGEST = 366 * 86_400
"""Seconds: no calendar must be able to end before a window does."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)


def read_rule(written: str) -> Rule:
    """Raises `WrongUse` if it is none."""
    if rule := rule_of(written):
        return rule
    raise WrongUse(f"a rule is majority, unanimous, quorum:2 or quorum:50%, not {written!r}", code=BAD_VALUE)


def proposed(record: Decision | None, id: str, proposal: Proposal) -> Sequence[Event]:
    if record is not None:  # the same request came again
        return []
    _check(proposal)
    return [DecisionProposed(id, proposal)]


def _check(proposal: Proposal) -> None:
    options = [option.id for option in proposal.options]
    voters = [voter.name for voter in proposal.participants]
    if not proposal.topic.strip():
        raise WrongUse("a decision needs a topic: what is to be decided", code=BAD_VALUE)
    if len(options) < 2:
        raise WrongUse("a decision needs at least two options", code=BAD_VALUE)
    if not voters:
        raise WrongUse("a decision needs participants: name who may vote", code=BAD_VALUE)
    for kind, names in (("option", options), ("participant", voters)):
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise WrongUse(f"the {kind} {twice[0]!r} is named twice", code=BAD_VALUE)
    _check_names(proposal)
    _check_rule(proposal)


def _check_names(proposal: Proposal) -> None:
    for option in (option.id for option in proposal.options):
        if not _ID.fullmatch(option) or option == ABSTAIN:
            raise WrongUse(
                f"an option's id is at most 80 letters, digits, `.`, `_` and `-`, and not `{ABSTAIN}`;"
                f" {option!r} is not; put what it means into its text",
                code=BAD_VALUE,
            )
    for voter in proposal.participants:
        if voter.name in ("", RUNTIME) or one_line(voter.name) != voter.name:
            raise WrongUse(
                f"{voter.name!r} cannot vote; name agents by their ids, and people", code=BAD_VALUE
            )
        if not 1 <= voter.weight <= HEAVIEST:
            raise WrongUse(
                f"the weight of {voter.name!r} is from 1 to {HEAVIEST}, not {voter.weight}", code=BAD_VALUE
            )


def _check_rule(proposal: Proposal) -> None:
    rule, whole = proposal.rule, sum(voter.weight for voter in proposal.participants)
    if rule.kind == "quorum":
        if (rule.votes > 0) == (rule.percent > 0) or rule.percent > 100:
            raise WrongUse("a quorum is a number of votes, or a part of all from 1% to 100%", code=BAD_VALUE)
        if rule.votes > whole:
            raise WrongUse(
                f"a quorum of {rule.votes} is never reached: all participants weigh {whole}", code=BAD_VALUE
            )
    if not 0 <= proposal.window <= LONGEST:
        raise WrongUse(f"the window is from 0 to {LONGEST} seconds, not {proposal.window}", code=BAD_VALUE)
