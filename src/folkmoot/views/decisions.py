"""Decisions for people and programs: as JSON, as a Markdown record, and as a ballot on a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from typing import Any

import msgspec

from folkmoot.domain.decision import ABSTAIN, Decision, Tally, Vote, tally
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value
from folkmoot.views.figures import clock_time


def document(decision: Decision) -> dict[str, Any]:
    """All of it, and what follows from it."""
    shown: dict[str, Any] = msgspec.to_builtins(decision)
    return {
        **shown,
        "rule": str(decision.rule),
        "timestamp": decision.committed_at or decision.proposed_at,
        "until": decision.until,
        "tally": msgspec.to_builtins(tally(decision, decision.standing_votes)),
        "approval": _approval(decision),
    }


def _approval(decision: Decision) -> dict[str, Any] | None:
    """What the lead or a person has to say, in the form of every other approval; None while the votes may decide."""
    if decision.escalated_because is None:
        return None
    return {
        "id": decision.id,
        "subject": "decision",
        "risk": decision.risk,
        "preview": decision.topic,
        "requestedBy": decision.proposed_by,
        "approverPolicy": ["human"] if decision.risk == "high" else ["lead", "human"],
        "status": "approved" if decision.status == "committed" else "pending",
        "decidedBy": decision.committed_by,
        "reason": decision.rationale or decision.escalated_because,
        "at": decision.committed_at or decision.escalated_at,
    }


FOLDER = "decisions"
_ESCALATED = {
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
    because = _ESCALATED.get(decision.escalated_because or "", "")
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


_SEATS = 8
"""More are drawn as a bar."""
_BECAUSE = {
    "tie": "the votes are tied",
    "no_result": "the votes do not meet the rule",
    "window_over": "the window is over",
}


class Seat(Value):
    x: float
    taken: bool


class Choice(Value):
    """One option."""

    id: str
    text: str
    letter: str
    weight: int
    """What is for it."""
    share: str
    """Of all that could be, in percent."""
    voters: tuple[str, ...]
    seats: tuple[Seat, ...]
    chosen: bool
    by_lead: bool
    """Somebody's word beyond the votes chose it."""


class Stage(Value):
    name: str
    said: str
    reached: bool


class Ballot(Value):
    decision: Decision
    tally: Tally
    choices: tuple[Choice, ...]
    stages: tuple[Stage, ...]
    whole: int
    """The weight of everybody."""
    votes: tuple[tuple[str, Vote], ...]
    """Those that stand, in order of time, with the letter of their option."""
    open_because: str
    """Why it needs the word of the lead, or of a person; empty if it does not."""


def ballot(decision: Decision) -> Ballot:
    count = tally(decision, decision.standing_votes)
    whole = sum(voter.weight for voter in decision.participants)
    letters = {option.id: _letter(at) for at, option in enumerate(decision.options)}
    votes = sorted(decision.standing_votes.values(), key=lambda vote: vote.at)
    return Ballot(
        decision,
        count,
        tuple(_choice(decision, count, id, letters[id], whole) for id in letters),
        _stages(decision, count),
        whole,
        tuple((letters.get(vote.option, "–"), vote) for vote in votes),
        _BECAUSE.get(decision.escalated_because or "", "") if decision.status == "escalated" else "",
    )


def _letter(at: int) -> str:
    return ascii_uppercase[at] if at < len(ascii_uppercase) else str(at + 1)


def _choice(decision: Decision, count: Tally, id: str, letter: str, whole: int) -> Choice:
    option, weight = decision.option(id), count.counts[id]
    chosen = decision.committed_option == id
    seats = (
        tuple(Seat(140 - 16.0 * (whole - at - 1), at < weight) for at in range(whole))
        if whole <= _SEATS
        else ()
    )
    return Choice(
        id=id,
        text=option.text if option else "",
        letter=letter,
        weight=weight,
        share=f"{100 * weight / whole:.1f}%" if whole else "0%",
        voters=tuple(vote.voter for vote in decision.standing_votes.values() if vote.option == id),
        seats=seats,
        chosen=chosen,
        by_lead=chosen and decision.how in ("tie_break", "lead"),
    )


def _stages(decision: Decision, count: Tally) -> tuple[Stage, ...]:
    spoken = len(decision.standing_votes)
    split = " : ".join(str(each) for each in count.counts.values())
    abstained = sum(vote.option == ABSTAIN for vote in decision.standing_votes.values())
    beside = f", {abstained} abstained" if abstained else ""
    committed = decision.status == "committed"
    stages = [
        Stage("Proposed", f"{clock_time(decision.proposed_at)} · {len(decision.options)} options", True),
        Stage("Deliberated", f"{len(decision.comments)} comments", bool(decision.comments)),
        Stage("Voted", f"{spoken} of {len(decision.participants)} · {split}{beside}", bool(spoken)),
    ]
    if decision.escalated_because:
        by = f"by {decision.committed_by}" if committed else "waits for the lead or a person"
        name = "Tie broken" if decision.escalated_because == "tie" and committed else "Escalated"
        stages.append(Stage(name, f"{clock_time(decision.escalated_at)} · {by}", True))
    at = clock_time(decision.committed_at) if committed else "not yet"
    return (*stages, Stage("Recorded", at, committed))
