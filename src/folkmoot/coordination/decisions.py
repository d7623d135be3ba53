"""What may be put to the vote, who may vote, and when a decision is made and by whom. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.domain.decision import (
    ABSTAIN,
    Decision,
    DecisionCommitted,
    DecisionDeliberated,
    DecisionEscalated,
    DecisionProposed,
    DecisionVoted,
    DecisionVotingOpened,
    Failing,
    How,
    Proposal,
    Rule,
    Tally,
    rule_of,
    tally,
)
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


def committed(
    decision: Decision, author: Author, option: str, rationale: str, now: str, leads: Collection[str]
) -> Sequence[Event]:
    """`option` is needed where the votes do not decide; `leads` are the agents whose files say that they lead."""
    if decision.status == "committed":
        raise committed_already(decision)
    count, may_decide = counted(decision), _may_decide(decision, author, leads)
    failing = decision.escalated_because or _failing(decision, count, now)
    if not failing and not count.winner:
        waiting = f"; {', '.join(count.missing)} may still vote" if count.missing else ""
        until = f" until {decision.until}" if decision.until else ""
        raise WrongUse(
            f"{decision.id} cannot be decided yet: the rule {decision.rule} is not met{waiting}{until}"
        )
    if not failing:
        if author.is_agent and not may_decide:
            _must_take_part(decision, author.name)
        if option not in ("", count.winner):
            raise WrongUse(f"the votes on {decision.id} have decided for {count.winner!r}, not {option!r}")
        return [_commit(decision, count.winner, rationale, "vote", count, author)]
    if not may_decide:
        raise WrongUse(f"the votes on {decision.id} do not decide ({failing}); {_who(decision, leads)} must")
    open_to = count.tied if failing == "tie" else tuple(option.id for option in decision.options)
    if option not in open_to:
        named = f"{option!r} is not open" if option else "name an option"
        raise WrongUse(
            f"the votes on {decision.id} do not decide ({failing}); {named}: {options(decision, open_to)}"
        )
    how: How = "tie_break" if failing == "tie" else "lead"
    escalation = [] if decision.escalated_because else [DecisionEscalated(failing, count)]
    return [*escalation, _commit(decision, option, rationale, how, count, author)]


def due(decision: Decision, now: str) -> Sequence[Event]:
    """What must happen to a decision without anybody's word, once all have spoken or the window is over."""
    if decision.status in ("escalated", "committed"):
        return []
    count = counted(decision)
    if failing := _failing(decision, count, now):
        return [DecisionEscalated(failing, count)]
    if count.winner and (count.is_complete or decision.is_over(now)):
        return [_commit(decision, count.winner, "", "vote", count, Author(RUNTIME))]
    return []


def counted(decision: Decision) -> Tally:
    return tally(decision, decision.standing_votes)


def _failing(decision: Decision, count: Tally, now: str) -> Failing | None:
    """Why the votes will not decide; None as long as they may, or do."""
    over = decision.is_over(now)
    if count.winner or not (count.is_complete or over):
        return None
    if count.tied:
        return "tie"
    return "no_result" if count.is_complete else "window_over"


def _must_take_part(decision: Decision, agent: str) -> None:
    """The count says it all, so whoever takes part may state it."""
    if agent not in (decision.proposed_by, *(voter.name for voter in decision.participants)):
        raise WrongUse(f"{agent!r} takes no part in {decision.id}; its participants or the lead commit it")


def _commit(  # because all of it is recorded
    decision: Decision, option: str, rationale: str, how: How, count: Tally, author: Author
) -> DecisionCommitted:
    votes = ", ".join(f"{option} {weight}" for option, weight in count.counts.items())
    by = {"vote": "", "tie_break": f"; tie broken by {author.name}", "lead": f"; decided by {author.name}"}
    return DecisionCommitted(
        option,
        how,
        str(decision.rule),
        count,
        rationale,
        tie_break_by=author.name if how == "tie_break" else "",
        summary=f"{decision.topic}: {options(decision, (option,))} ({decision.rule}: {votes}{by[how]})",
    )


def _may_decide(decision: Decision, author: Author, leads: Collection[str]) -> bool:
    if not author.is_agent:
        return author.name != RUNTIME
    named = author.name == decision.lead if decision.lead else author.name in leads
    return named and decision.risk != "high"


def _who(decision: Decision, leads: Collection[str]) -> str:
    if decision.risk == "high":
        return "a person (its risk is high)"
    lead = decision.lead or " or ".join(sorted(leads))
    return f"{lead} or a person" if lead else "a person"
