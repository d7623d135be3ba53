"""What was spent, beside what took most and beside what may be spent."""

import pytest

from folkmoot.domain.budget import Budget
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmRequest, LlmResponse
from folkmoot.domain.message import Message, Usage
from folkmoot.domain.run_row import SpendSum
from folkmoot.views.costs import costs, limits, narrowest, shares
from folkmoot.views.run_tree import RunTree

SUMS = [SpendSum("a", cost=1.0, tokens_in=3), SpendSum("b", cost=4.0, tokens_in=1), SpendSum("c", cost=2.0)]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("agent", [("b", 1.0), ("c", 0.5), ("a", 0.25)]),
        ("day", [("c", 0.5), ("b", 1.0), ("a", 0.25)]),
    ],
)
def test_the_dearest_comes_first_and_days_from_the_newest(by, expected):
    assert [(each.name, each.part) for each in shares(SUMS, by)] == expected


def test_where_nothing_costs_anything_shares_are_by_tokens():
    free = [SpendSum("a", tokens_in=3, tokens_out=1), SpendSum("b", tokens_in=1)]

    assert [(each.name, each.part) for each in shares(free, "model")] == [("a", 1.0), ("b", 0.25)]


def test_the_api_lists_the_dearest_first_and_days_in_their_order():
    assert [row.id for row in costs(SUMS, "agent")] == ["b", "c", "a"]
    assert [row.id for row in costs(SUMS, "day")] == ["a", "b", "c"]


def test_what_is_left_counts_what_is_held_and_follows_the_tightest_limit():
    first, second = (
        LlmRequest(1, 1, "p/m", max_output=10, reserved_tokens=100, reserved_usd=usd) for usd in (9.0, 0.5)
    )
    answer = LlmResponse(1, 1, "p/m", Message("assistant", ""), Usage(3, 2), 1.0)
    drafts = [
        Draft("2026-03-01T10:00:00.000Z", event, span, span, "a")
        for span, event in (("0", first), ("0", answer), ("1", second))
    ]
    spent = SpendSum("r", requests=1, tokens_in=3, tokens_out=2, cost=1.0)
    budget = narrowest(Budget(usd=10.0, tokens=1000), Budget(usd=2.0))

    found = {limit.name: limit for limit in limits(spent, RunTree(drafts).held, budget)}

    usd = found["usd"]
    assert (usd.most, usd.used, usd.held, usd.left) == (2.0, 1.0, 0.5, 0.5)
    assert found["tokens"].left == 1000 - 5 - 100
    assert "requests" not in found
