import pytest

from folkmoot.cli.output import (
    counted,
    format_dollars,
    format_elapsed,
    format_seconds,
)


def test_one_is_not_many():
    assert [counted(count, "agent") for count in (0, 1, 2000)] == ["0 agents", "1 agent", "2,000 agents"]


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "$0.00"), (0.00001, "<$0.0001"), (0.0123, "$0.0123"), (12.345, "$12.35")]
)
def test_small_bills_keep_their_digits(amount, text):
    assert format_dollars(amount) == text


@pytest.mark.parametrize(
    ("elapsed", "text"), [(0.04, "0.0 s"), (59.9, "59.9 s"), (61, "1 m 01 s"), (7260, "2 h 01 m")]
)
def test_time_is_told_in_the_units_people_use(elapsed, text):
    assert format_seconds(elapsed) == text


def test_the_time_between_two_moments_needs_both():
    assert format_elapsed("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.500Z") == "2.5 s"
    assert format_elapsed("2026-01-01T00:00:00.000Z", None) == ""
