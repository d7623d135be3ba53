from msgspec.structs import replace

from bench.page import RUN, long_run
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunCompleted
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.run_row import RunRow
from folkmoot.views.run_list import PAGE, ListedRun, RunList, Wanted, matching, pulse
from folkmoot.views.sparks import bars, line

NOW = "2026-03-02T12:00:00.000Z"


def run(name, started="2026-03-02T11:30:00.000Z", status="completed", cost=0.0, duration=1.0):
    row = RunRow(name, "a.ai", status, started, "hi")
    return ListedRun(row, "hi", ("a",), "", "", duration, 0, cost, ())


def test_the_shape_of_a_long_run_takes_no_more_room_than_that_of_a_short_one():
    """People know their runs by it; what failed stays visible among thousands of steps."""
    folded = RunList()
    for n, draft in enumerate(long_run(1_000), start=1):
        folded.take(Entry(n, n, "", "", RUN, draft))
    (shown,) = folded.listed([RunRow(RUN, "boss.ai", "completed", NOW, "x")], 0.0)

    assert shown.title == "check all orders"
    assert shown.tokens == 10 * 49 * 940
    assert len(shown.marks) < 260
    assert "fail" in {mark.kind for mark in shown.marks}
    assert all(0 <= mark.left <= 100 and mark.lane < 4 for mark in shown.marks)


def test_what_a_fork_took_over_counts_neither_as_its_time_nor_as_its_money():
    folded = RunList()
    past = [draft for draft in long_run(20) if not isinstance(draft.event, RunCompleted)]
    forked = replace(past[0], ts="2099-01-01T00:00:00.000Z", event=RunForked("another", len(past)))
    for n, draft in enumerate(past, start=1):
        folded.take(Entry(n, n, "", "", RUN, draft))
    took = folded.summaries[RUN].now
    folded.take(Entry(len(past) + 1, len(past) + 1, "", "", RUN, forked))
    (shown,) = folded.listed([RunRow(RUN, "boss.ai", "completed", NOW, "x")], 0.0)

    assert (shown.tokens, shown.cost, round(shown.duration, 3)) == (0, 0.0, round(took, 3))


def test_the_pulse_counts_the_last_day_hour_by_hour():
    runs = [
        run("now", cost=0.25),
        run("failed", "2026-03-02T09:10:00.000Z", "failed", cost=0.5),
        run("open", "2026-03-02T11:59:00.000Z", "waiting"),
        run("long ago", "2026-03-01T11:59:00.000Z", cost=9.0),
    ]

    day = pulse(runs, NOW)

    assert (day.runs, day.open, day.cost, day.failed) == (3, 1, 0.75, 1)
    assert (day.by_hour[-1], day.failed_by_hour[-3]) == (2, 1)
    assert day.p95 == 1.0


def test_runs_are_sorted_by_what_they_took():
    runs = [run("a", cost=0.1, duration=5), run("b", cost=0.3, duration=1), run("c", cost=0.2, duration=3)]

    def order(sort):
        return [each.row.run_id for each in matching(runs, Wanted(sort=sort), "")]

    assert order("-cost") == ["b", "c", "a"]
    assert order("duration") == ["b", "c", "a"]
    assert PAGE == 50


def test_sparks_stay_in_their_box():
    assert [y + height for _, y, _, height, _ in bars([0, 3, 9], "hot")] == [36.0, 36.0, 36.0]
    assert bars([0, 3, 9], "hot")[-1][-1] == "hot"
    assert line([0, 5, 10]) == "0.0,36.0 50.0,20.0 100.0,4.0"
