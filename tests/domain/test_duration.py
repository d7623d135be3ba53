import pytest

from folkmoot.domain.duration import UNITS, seconds, written


@pytest.mark.parametrize(
    ("text", "meant"),
    [("off", 0.0), ("200ms", 0.2), ("5s", 5.0), ("1.5m", 90.0), ("1h", 3600.0), ("1d", 86_400.0), (1500, 1.5), ("40", 0.04)],
)  # fmt: skip
def test_a_duration_is_a_number_with_a_unit_or_of_milliseconds(text, meant):
    """O-9."""
    assert seconds(text) == pytest.approx(meant)


@pytest.mark.parametrize(
    "text", ["", "soon", "5 s", "5S", "-5s", "1h30m", "٣s", "1" * 50, -1, 10**400, float("inf"), float("nan"), True, None, ["5s"]]
)  # fmt: skip
def test_what_is_no_duration_is_none(text):
    assert seconds(text) is None


@pytest.mark.parametrize(
    ("span", "text"),
    [(0, "off"), (0.0005, "0.5ms"), (0.25, "250ms"), (1.5, "1500ms"), (90, "90s"), (600, "10m"), (129_600, "36h"), (86_400, "1d")],
)  # fmt: skip
def test_seconds_are_written_in_the_largest_unit_that_fits_and_read_back_as_they_were(span, text):
    assert written(span) == text
    assert seconds(text) == span


def test_every_unit_can_be_written_and_read():
    assert [seconds(f"3{unit}") for unit in UNITS] == [3 * size for size in UNITS.values()]
