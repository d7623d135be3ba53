"""Active, waiting and idle time: the union of what a run's events say, whoever overlaps."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    RunForked,
    RunParked,
    SessionCancelled,
    SessionStarted,
    ToolFailed,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import QuestionAnswered, QuestionAsked, ToolSettled
from folkmoot.views.activity import Activity, Intervals, measure
from folkmoot.views.figures import spent

ZERO = datetime(2026, 1, 1, tzinfo=UTC)
MOST = 60
INTERVALS = st.lists(st.tuples(st.integers(0, MOST), st.integers(0, 20)), max_size=12).map(
    lambda pairs: [(start, start + took) for start, took in pairs]
)


def at(second, event, session="run-1", span="0"):
    ts = (ZERO + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Draft(ts, event, session, span, "a")


def ask(second, session="run-1", turn=1):
    return at(second, LlmRequest(turn, 1, "m/m", 0, 0), session)


def answer(second, session="run-1", turn=1):
    return at(second, LlmFailed(turn, 1, "m/m", "no", retryable=True), session)


def call(second, number=1, session="run-1", tool="ask_user"):
    return at(second, ToolStarted(1, number, tool, {}, "pure", "read", "k", ""), session)


def back(second, number=1, session="run-1"):
    return at(second, ToolFailed(1, number, "ask_user", "no"), session)


def seconds_of(intervals):
    """The plain union: every second that lies in any of them."""
    return {second for start, end in intervals for second in range(start, end)}


@given(INTERVALS, st.lists(st.integers(0, MOST), max_size=3))
@example([(0, 10), (5, 15)], [12])
def test_a_union_counts_each_second_once_with_what_is_still_open(closed, open):
    """K-80: compared with counting second by second."""
    intervals = Intervals()
    for start, end in sorted(closed, key=lambda each: each[1]):
        intervals.add(start, end)
    until = MOST + 20
    seconds = seconds_of([*closed, *((since, until) for since in open)])

    parts = intervals.until(until, open)

    assert intervals.length(until, open) == len(seconds)
    assert seconds_of(parts) == seconds
    assert all(a[1] < b[0] for a, b in pairwise(parts))


@given(
    st.lists(
        st.tuples(st.sampled_from("ABCD"), st.booleans(), st.integers(0, 40), st.integers(1, 20)), max_size=10
    )
)
def test_a_journal_of_agents_that_overlap_is_measured_as_the_union_of_what_they_did(deeds):
    """K-80: requests and questions of several sessions, in any order of time."""
    works, waits, drafts = [], [], [at(0, SessionStarted("a.ai", "hi"))]
    for number, (agent, asks_person, start, took) in enumerate(deeds, start=1):
        session, end = f"run-1:{agent}{number}", start + took
        if asks_person:
            waits.append((start, end))
            asked = QuestionAsked(f"q{number}", "which?", 1, 1)
            drafts += [call(start, session=session), at(start, asked, session)]
            drafts += [at(end, QuestionAnswered(f"q{number}", "this"), session), back(end, session=session)]
        else:
            works.append((start, end))
            drafts += [ask(start, session), answer(end, session)]
    drafts = sorted(drafts, key=lambda draft: draft.ts)
    until = max((end for _, end in (*works, *waits)), default=0)

    active, waiting, idle = measure(drafts)

    busy, asked = seconds_of(works), seconds_of(waits)
    assert (active, waiting) == pytest.approx((len(busy), len(asked - busy)))
    assert active + waiting + idle == pytest.approx(until)


@pytest.mark.parametrize(
    ("drafts", "until", "expected"),
    [
        ([ask(0), ask(5, "run-1:b"), answer(10), answer(15, "run-1:b")], 15, (15, 0, 0)),
        (
            [call(0), at(1, QuestionAsked("q", "?", 1, 1)), at(61, QuestionAnswered("q", "!")), back(63)],
            63,
            (3, 60, 0),
        ),
        ([call(0, tool="a2a_send"), at(2, SessionStarted("b.ai", "hi", "run-1"), "run-1:b", "0/turn:1/call:1/to:b")], 9, (2, 0, 7)),
        ([ask(0), ask(0, "run-1:b"), ask(100), answer(104), answer(106, "run-1:b")], 106, (6, 0, 100)),
        ([ask(0), at(4, SessionCancelled("too late"))], 10, (4, 0, 6)),
        ([call(0), at(50, ToolInDoubt(1, 1, "send")), at(80, ToolSettled(1, 1, "done")), back(80)], 80, (0, 30, 50)),
        ([ask(0), answer(2), at(2, RunParked(("ws_1",))), ask(12), answer(13)], 13, (3, 10, 0)),
        ([ask(0), answer(2), at(1000, RunForked("run-0", 2)), ask(1000), answer(1003)], 5, (5, 0, 0)),
    ],
    ids=["overlap", "question", "what it called", "lost process", "cancelled", "doubt", "parked", "fork"],
)  # fmt: skip
def test_only_who_works_is_active(drafts, until, expected):
    """K-80: a call that asks waits, one that has others work is as they are, and a process that died did nothing."""
    whole = (ZERO + timedelta(seconds=until)).isoformat()
    forked = any(isinstance(draft.event, RunForked) for draft in drafts)
    assert measure(drafts, "" if forked else whole) == pytest.approx(expected)


def test_what_is_parked_uses_up_no_wall_time():
    """K-80: as the budget counts it."""
    activity = Activity()
    for draft, second in ((ask(0), 0), (answer(2), 2), (at(2, RunParked(("q",))), 2), (ask(92), 92)):
        activity.take(draft, second)
    assert activity.unparked(95) == 5
    assert spent(*activity.times(95)) == "5.0 s active, 1 m 30 s waiting"
