"""A decision as seats and stages."""

from folkmoot.domain.decision import Decision, Option, Vote, Voter
from folkmoot.views.decisions import ballot

AT = "2026-01-01T10:00:00.000Z"


def decision(votes, **more):
    voters = more.pop("participants", (Voter("ann", 2), Voter("bob"), Voter("cid")))
    cast = tuple(Vote(voter, option, AT) for voter, option in votes)
    return Decision(
        "Which?", (Option("a", "The first"), Option("b")), voters, id="d", proposed_by="eve", proposed_at=AT,
        votes=cast, **more,
    )  # fmt: skip


def test_each_option_has_as_many_seats_taken_as_weigh_for_it():
    """D-42: bars, and who voted what."""
    shown = ballot(decision([("ann", "a"), ("bob", "b"), ("cid", "abstain")]))
    first, second = shown.choices

    assert (first.letter, first.weight, first.voters, shown.whole) == ("A", 2, ("ann",), 4)
    assert [seat.taken for seat in first.seats] == [True, True, False, False]
    assert [seat.taken for seat in second.seats] == [True, False, False, False]
    assert [letter for letter, _ in shown.votes] == ["A", "B", "–"]
    assert shown.stages[2].said == "3 of 3 · 2 : 1, 1 abstained"


def test_many_votes_are_a_bar():
    crowd = tuple(Voter(f"v{n}") for n in range(20))
    [first, _] = ballot(decision([("v1", "a"), ("v2", "a")], participants=crowd)).choices
    assert (first.seats, first.share) == ((), "10.0%")


def test_a_tie_waits_for_the_lead_until_somebody_breaks_it():
    """D-9."""
    tied = decision([("ann", "a")], status="escalated", escalated_because="tie", escalated_at=AT)
    assert ballot(tied).open_because == "the votes are tied"
    assert [stage.name for stage in ballot(tied).stages][-2:] == ["Escalated", "Recorded"]

    ended = decision(
        [("ann", "a")], status="committed", escalated_because="tie", escalated_at=AT, committed_at=AT,
        committed_by="lead", committed_option="b", how="tie_break",
    )  # fmt: skip
    shown = ballot(ended)
    assert shown.choices[1].by_lead
    assert not shown.open_because
    assert [stage.name for stage in shown.stages][-2:] == ["Tie broken", "Recorded"]
