"""A decision in words, for whoever has to say something to it."""

from __future__ import annotations

from folkmoot.coordination.decisions.committing import counted
from folkmoot.domain.decision import Decision
from folkmoot.domain.text import one_line


def brief(decision: Decision, now: str) -> str:
    """What it is about, what was said, and how it stands."""
    count = counted(decision)
    lines = [
        f"{decision.id} ({decision.status}): {one_line(decision.topic)}",
        "options, with the votes for each:",
    ]
    lines += [
        f"- {option.id} ({count.counts[option.id]}): {one_line(option.text)}".removesuffix(": ")
        for option in decision.options
    ]
    lines += [f"evidence: {one_line(each)}" for each in decision.evidence]
    lines += [f"{comment.by} says: {one_line(comment.text)}" for comment in decision.comments]
    apart = {"abstained": count.abstained, "not yet voted": count.missing}
    lines += [f"{name}: {', '.join(who)}" for name, who in apart.items() if who]
    return "\n".join([*lines, standing(decision, now)])


def standing(decision: Decision, now: str) -> str:
    """How far it is, in a sentence that says what can be done next."""
    count = counted(decision)
    if decision.status == "committed":
        by = {"vote": "by the votes", "tie_break": f"{decision.tie_break_by} broke the tie"}
        how = by.get(decision.how or "", f"{decision.committed_by} decided, because the votes did not")
        return f"decided: {decision.committed_option} ({how})"
    if count.winner:
        return f"the rule {decision.rule} is met: {count.winner} can be committed"
    if decision.status == "escalated" or count.is_complete or decision.is_over(now):
        return "the votes do not decide: the lead must, or a person"
    until = f" until {decision.until}" if decision.until else ""
    return f"the rule {decision.rule} is not met; votes are taken{until}"
