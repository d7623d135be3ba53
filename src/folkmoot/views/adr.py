"""The record of a decision as Markdown. Pure, and the same to the byte for the same decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from folkmoot.domain.decision import ABSTAIN, Decision, tally
from folkmoot.domain.text import one_line

FOLDER = "decisions"
_BECAUSE = {
    "tie": "the votes were tied",
    "no_result": "the votes did not meet the rule",
    "window_over": "the window was over before the votes met the rule",
}


def projected(decisions: Iterable[Decision]) -> dict[str, str]:
    """The text of each file by its path."""
    return {f"{FOLDER}/{decision.id}.md": record(decision) for decision in decisions}


def record(decision: Decision) -> str:
    parts = [
        f"# {one_line(decision.topic)}",
        "\n".join(_facts(decision)),
        "## Context\n\n" + ("\n".join(_context(decision)) or "Nothing was said."),
        "## Options\n\n" + "\n".join(_options(decision)),
        "## Decision\n\n" + _outcome(decision),
        "## Rationale\n\n" + (_quoted(decision.rationale) or "None was given."),
        "## Participants\n\n" + "\n".join(_participants(decision)),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(decision: Decision) -> Iterator[str]:
    about = decision.about
    facts = {
        "Decision": decision.id,
        "Status": decision.status,
        "Proposed": f"{decision.proposed_at} by {one_line(decision.proposed_by)}",
        "Escalated": decision.escalated_at,
        "Decided": decision.committed_at and f"{decision.committed_at} by {one_line(decision.committed_by)}",
        "Tie-break by": one_line(decision.tie_break_by),
        "Rule": str(decision.rule),
        "Risk": decision.risk,
        "Work session": decision.work_session,
        "Plan": about.plan,
        "Step": about.step,
        "Task": about.task,
    }
    return (f"- {name}: {fact}" for name, fact in facts.items() if fact)


def _context(decision: Decision) -> Iterator[str]:
    for each in decision.evidence:
        yield f"- evidence: {one_line(each)}"
    for comment in decision.comments:
        references = ", ".join(map(one_line, comment.references))
        said = f"{comment.at} {one_line(comment.by)}: {one_line(comment.text)}"
        yield f"- {said} ({references})" if references else f"- {said}"


def _options(decision: Decision) -> Iterator[str]:
    count, votes = tally(decision, decision.standing_votes), decision.standing_votes.values()
    for option in decision.options:
        voters = ", ".join(one_line(vote.voter) for vote in votes if vote.option == option.id)
        text = f": {one_line(option.text)}" if option.text else ""
        yield f"- `{option.id}`{text}: {count.counts[option.id]} {f'({voters})' if voters else ''}".rstrip()


def _outcome(decision: Decision) -> str:
    chosen = decision.option(decision.committed_option)
    because = _BECAUSE.get(decision.escalated_because or "", "")
    if chosen is None:
        return f"Open: {because}; the lead decides, or a person." if because else "Open."
    text = f"`{chosen.id}`" + (f": {one_line(chosen.text)}" if chosen.text else "")
    if decision.how == "vote":
        return f"{text}\n\nBy vote ({decision.rule})."
    verb = "Tie-break by" if decision.how == "tie_break" else "Decided by"
    return f"{text}\n\n{verb} {one_line(decision.committed_by)}: {because}."


def _participants(decision: Decision) -> Iterator[str]:
    votes = decision.standing_votes
    for voter in decision.participants:
        vote = votes.get(voter.name)
        said = "did not vote"
        if vote:
            said = "abstained" if vote.option == ABSTAIN else f"`{vote.option}`"
            said += f" at {vote.at}" + (f": {one_line(vote.reason)}" if vote.reason else "")
        weight = f" (weight {voter.weight})" if voter.weight != 1 else ""
        yield f"- {one_line(voter.name)}{weight}: {said}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
