"""A decision as people look at it: options with their votes as seats, and how far it has come."""

from __future__ import annotations

from string import ascii_uppercase

from folkmoot.domain.decision import ABSTAIN, Decision, Tally, Vote, tally
from folkmoot.domain.value import Value
from folkmoot.views.figures import clock_time

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
