"""What W3C's Trace Context calls sound, and what is passed on of it."""

import pytest

from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.trace import Passing, attempt_name, passing, span_id, told, trace_id

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
OTEL = SinkSettings("otel")


@pytest.mark.parametrize(
    "parent", [PARENT, f" {PARENT} ", f"00-{TRACE}-{SPAN}-00", f"cc-{TRACE}-{SPAN}-01-more"]
)
def test_what_is_sound_is_believed(parent):
    """Of a later version as much as the first one has."""
    assert told({"traceparent": parent}) == {"traceparent": parent.strip()}


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "nonsense",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-more",
        f"cc-{TRACE}-{SPAN}-01more",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"{PARENT},{PARENT}",
        f"00-{TRACE}\n-{SPAN}-01",
        7,
    ],
)
def test_all_else_is_ignored_together_with_its_state(parent):
    assert told({"traceparent": parent, "tracestate": "a=1"}) == {}


def test_a_state_that_is_too_long_or_no_text_is_left_out():
    assert told({"traceparent": PARENT, "tracestate": "a=1,b=2"}) == {
        "traceparent": PARENT,
        "tracestate": "a=1,b=2",
    }
    for state in ("a=" + "x" * 511, "a=\u00e4", "a=\x07"):
        assert told({"traceparent": PARENT, "tracestate": state}) == {"traceparent": PARENT}


def test_a_run_is_in_the_trace_of_whoever_asked_for_it_or_in_its_own():
    assert trace_id("run-1", PARENT) == TRACE
    assert trace_id("run-1") not in (TRACE, trace_id("run-2"))


def test_others_are_told_the_span_that_they_work_for():
    name = attempt_name("run-1", 2, 1)
    given = passing("run-1", f"00-{TRACE}-{SPAN}-00", "a=1", [])

    assert given == Passing(TRACE, 0, "a=1")
    assert given.within(name) == {"traceparent": f"00-{TRACE}-{span_id(name)}-00", "tracestate": "a=1"}
    assert passing("run-1", "", "", [OTEL]) == Passing(trace_id("run-1"))


def test_nobody_is_told_where_there_is_no_trace_or_the_project_does_not_want_it():
    assert passing("run-1", "", "", [SinkSettings("ndjson")]) is None
    for parent in ("", PARENT):
        assert passing("run-1", parent, "", [SinkSettings("otel", propagate=False)]) is None
