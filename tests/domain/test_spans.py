"""Places in a run and what their names say about their order."""

import pytest

from folkmoot.domain.spans import in_order, precedes


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
