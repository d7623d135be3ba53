"""Places in a run and what their names say about their order."""

import pytest

from folkmoot.domain.spans import (
    ROOT,
    call_depth,
    call_span,
    calling_span,
    child_span,
    in_order,
    is_within,
    kind_of,
    parent_span,
    precedes,
    prefixes,
    steps_below,
)


@pytest.mark.parametrize(
    ("earlier", "later", "holds"),
    [
        ("0/turn:1/call:1/to:bob", "0/turn:2/call:1/to:bob", True),
        ("0/turn:9/call:1", "0/turn:10/call:1", True),
        ("0/turn:2/call:1", "0/turn:1/call:1", False),
        ("0/turn:1/call:1", "0/turn:1/call:2", False),
        ("0/turn:1/call:1", "0/turn:1/call:1/to:bob", False),
        ("0/turn:1/call:1/to:bob/turn:1/call:1", "0/turn:1/call:2/to:bob/turn:2/call:1", False),
        ("0/lead/cycle:1/turn:3/call:1", "0/lead/cycle:2/turn:1/call:1", True),
        ("0/member:a/cycle:1/turn:1/call:1", "0/member:b/cycle:2/turn:1/call:1", False),
    ],
)
def test_one_span_is_over_before_another_only_if_it_lies_in_an_earlier_turn_of_the_same_session(
    earlier, later, holds
):
    assert precedes(earlier, later) is holds


def test_spans_are_sorted_by_numbers_and_not_by_digits():
    spans = ["0/turn:10/call:1", "0/turn:9/call:2", "0/turn:9/call:1/to:bob"]

    assert sorted(spans, key=in_order) == ["0/turn:9/call:1/to:bob", "0/turn:9/call:2", "0/turn:10/call:1"]


def test_a_span_lies_within_itself_and_all_above_it_and_in_nothing_that_only_begins_alike():
    span = "0/route:billing/turn:2/call:1"

    assert [outer for outer in prefixes(span) if is_within(span, outer)] == [
        "0",
        "0/route:billing",
        "0/route:billing/turn:2",
        span,
    ]
    assert not is_within(span, "0/route:bill")
    assert not is_within("0", span)


def test_what_a_span_is_put_together_from_is_what_it_is_taken_apart_into():
    called = call_span(child_span(ROOT, "route", "billing"), turn=2, call=1)
    written_to = child_span(called, "to", "bob")

    assert written_to == "0/route:billing/turn:2/call:1/to:bob"
    assert steps_below(written_to, "0/route:billing") == [("turn", "2"), ("call", "1"), ("to", "bob")]
    assert (parent_span(written_to), kind_of(written_to)) == (called, "to")
    assert (calling_span(called), call_depth(called), call_depth(written_to)) == ("0/route:billing", 1, 0)
