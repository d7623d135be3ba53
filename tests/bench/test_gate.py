"""The gate of the bench."""

from bench import gate


def test_the_call_that_is_measured_passes_every_stage_and_needs_no_word():
    assert gate.milliseconds() > 0
