"""When a decision is made, and by whom: by the votes if they meet the rule, otherwise by the lead or a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.decisions.voting import committed_already, options
from folkmoot.domain.decision import (
    Decision,
    DecisionCommitted,
    DecisionEscalated,
    Failing,
    How,
    Tally,
    tally,
)
from folkmoot.domain.entry import Event
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse


class Choice(Value):
    """What whoever commits says to it."""

    option: str = ""
    """Needed where the votes do not decide."""
    rationale: str = ""


def committed(
    decision: Decision, author: Author, choice: Choice, now: str, leads: Collection[str]
) -> Sequence[Event]:
    """`leads` are the agents whose files say that they lead."""
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
        return [_by_vote(decision, author, choice, count, may_commit=may_decide)]
    if not may_decide:
        raise WrongUse(f"the votes on {decision.id} do not decide ({failing}); {_who(decision, leads)} must")
    open_to = count.tied if failing == "tie" else tuple(option.id for option in decision.options)
    if choice.option not in open_to:
        named = f"{choice.option!r} is not open" if choice.option else "name an option"
        raise WrongUse(
            f"the votes on {decision.id} do not decide ({failing}); {named}: {options(decision, open_to)}"
        )
    how: How = "tie_break" if failing == "tie" else "lead"
    escalation = [] if decision.escalated_because else [DecisionEscalated(failing, count)]
    return [*escalation, _commit(decision, choice, how, count, author)]


def due(decision: Decision, now: str) -> Event | None:
    """What must happen to a decision without anybody's word, once all have spoken or the window is over."""
    if decision.status in ("escalated", "committed"):
        return None
    count = counted(decision)
    if failing := _failing(decision, count, now):
        return DecisionEscalated(failing, count)
    if count.winner and (count.is_complete or decision.is_over(now)):
        return _commit(decision, Choice(count.winner), "vote", count, Author(RUNTIME))
    return None


def overdue(decisions: Sequence[Decision], now: str) -> list[Decision]:
    return [decision for decision in decisions if due(decision, now)]


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


def _by_vote(decision: Decision, author: Author, choice: Choice, count: Tally, *, may_commit: bool) -> Event:
    """The count says it all, so whoever takes part may state it."""
    concerned = {decision.proposed_by, *(voter.name for voter in decision.participants)}
    if author.is_agent and not may_commit and author.name not in concerned:
        raise WrongUse(
            f"{author.name!r} takes no part in {decision.id}; its participants or the lead commit it"
        )
    if choice.option not in ("", count.winner):
        raise WrongUse(f"the votes on {decision.id} have decided for {count.winner!r}, not {choice.option!r}")
    return _commit(decision, Choice(count.winner, choice.rationale), "vote", count, author)


def _commit(decision: Decision, choice: Choice, how: How, count: Tally, author: Author) -> DecisionCommitted:
    votes = ", ".join(f"{option} {weight}" for option, weight in count.counts.items())
    by = {"vote": "", "tie_break": f"; tie broken by {author.name}", "lead": f"; decided by {author.name}"}[
        how
    ]
    return DecisionCommitted(
        choice.option,
        how,
        str(decision.rule),
        count,
        choice.rationale,
        tie_break_by=author.name if how == "tie_break" else "",
        summary=f"{decision.topic}: {options(decision, (choice.option,))} ({decision.rule}: {votes}{by})",
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
