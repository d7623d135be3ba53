"""Counting votes: nothing but the votes that stand, the weights and the rule decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.domain.decision import ABSTAIN, Option, Proposal, Rule, Vote, Voter, rule_of, tally

OPTIONS = ("a", "b", "c")
RULES = st.one_of(
    st.just(Rule()),
    st.just(Rule("unanimous")),
    st.integers(1, 20).map(lambda votes: Rule("quorum", votes=votes)),
    st.integers(1, 100).map(lambda percent: Rule("quorum", percent=percent)),
)
MEMBERS = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from((*OPTIONS, ABSTAIN, None))), min_size=1, max_size=8
)
"""The weight of each voter and what it said; None: nothing."""


def proposal(weights, rule):
    voters = tuple(Voter(f"v{number}", weight) for number, weight in enumerate(weights))
    return Proposal("which?", tuple(map(Option, OPTIONS)), voters, rule)


def counted(said, rule):
    """`said` holds pairs of weight and word."""
    votes = {f"v{number}": Vote(f"v{number}", word, "") for number, (_, word) in enumerate(said) if word}
    return tally(proposal([weight for weight, _ in said], rule), votes)


@given(MEMBERS, RULES)
def test_every_weight_is_counted_once(said, rule):
    """D-21: what is for the options, who abstained and who is missing are together all participants."""
    count = counted(said, rule)

    named = {f"v{number}": weight for number, (weight, _) in enumerate(said)}
    apart = sum(named[name] for name in (*count.abstained, *count.missing))
    assert sum(count.counts.values()) + apart == sum(named.values())
    assert not (count.winner and count.tied)
    assert count.is_complete == (None not in [word for _, word in said])


@given(MEMBERS, RULES)
def test_only_an_option_that_leads_alone_wins(said, rule):
    count = counted(said, rule)

    if count.winner:
        others = [weight for option, weight in count.counts.items() if option != count.winner]
        assert count.counts[count.winner] > max(others)
    if count.tied:
        assert {count.counts[option] for option in count.tied} == {max(count.counts.values())} != {0}


@given(MEMBERS)
def test_a_majority_is_more_than_half_of_all_who_do_not_abstain(said):
    count = counted(said, Rule())

    entitled = sum(weight for weight, word in said if word != ABSTAIN)
    expected = [option for option in OPTIONS if 2 * count.counts[option] > entitled]
    assert [count.winner] * bool(count.winner) == expected


@given(MEMBERS)
def test_a_majority_is_not_changed_by_whoever_is_missing(said):
    """So it may be committed before the window is over."""
    early = counted(said, Rule())
    late = counted([(weight, word or "a") for weight, word in said], Rule())

    if early.winner:
        assert late.winner == early.winner


@given(MEMBERS)
def test_unanimity_needs_a_word_of_all_and_the_same_one_of_all_who_do_not_abstain(said):
    words = {word for _, word in said}

    count = counted(said, Rule("unanimous"))

    assert bool(count.winner) == (None not in words and len(words - {ABSTAIN}) == 1)
    assert not count.tied


@given(MEMBERS, st.integers(1, 20))
def test_without_a_quorum_nothing_is_decided_and_with_it_the_most_votes_decide(said, votes):
    count = counted(said, Rule("quorum", votes=votes))

    cast = sum(count.counts.values())
    leading = [option for option in OPTIONS if cast and count.counts[option] == max(count.counts.values())]
    assert count.winner == (leading[0] if cast >= votes and len(leading) == 1 else "")
    assert count.tied == (tuple(leading) if cast >= votes and len(leading) > 1 else ())


@given(MEMBERS, RULES)
def test_an_abstention_never_makes_a_quorum(said, rule):
    """U-8: a failed run abstains; failures must not let the rest decide for all."""
    silent = counted([(weight, None if word == ABSTAIN else word) for weight, word in said], rule)

    if rule.kind == "quorum":
        assert counted(said, rule).winner == silent.winner


@given(MEMBERS, RULES, st.randoms())
def test_the_order_of_the_voters_changes_nothing(said, rule, random):
    shuffled = list(said)
    random.shuffle(shuffled)

    first, second = counted(said, rule), counted(shuffled, rule)

    assert (first.counts, first.winner, first.tied) == (second.counts, second.winner, second.tied)


def test_weights_decide_and_not_heads():
    """D-21."""
    count = counted([(3, "a"), (1, "b"), (1, "b")], Rule())

    assert (count.winner, count.counts) == ("a", {"a": 3, "b": 2, "c": 0})


@pytest.mark.parametrize("written", ["majority", "unanimous", "quorum:2", "quorum:50%"])
def test_a_rule_is_written_as_it_is_read(written):
    assert str(rule_of(written)) == written


@pytest.mark.parametrize(
    "written", ["", "most", "quorum", "quorum:0", "quorum:-1", "quorum:1.5", "majority "]
)
def test_what_is_no_rule_is_not_taken_for_one(written):
    assert rule_of(written) is None
