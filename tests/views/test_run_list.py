from msgspec.structs import replace

from bench.page import RUN, long_run
from folkmoot.domain.events import RunCompleted, RunForked
from folkmoot.domain.run_row import RunRow, RunSummary
from folkmoot.views.figures import spark_bars, spark_line
from folkmoot.views.run_list import listed, pulse
from folkmoot.views.run_tree import RunTree

NOW = "2026-03-02T12:00:00.000Z"


ROW = RunRow(RUN, "boss.ai", "completed", NOW, "check all orders")
SUMMARY = RunSummary(RUN, 1, "boss.ai", "completed", NOW, "check all orders", chain=("boss",), tokens=7)


def test_the_shape_of_a_long_run_takes_no_more_room_than_that_of_a_short_one():
    """People know their runs by it; what failed stays visible among thousands of steps."""
    shown = listed(ROW, SUMMARY, "", RunTree(long_run(1_000)), NOW)

    assert (shown.title, shown.tokens, shown.chain) == ("check all orders", 7, ("boss",))
    assert len(shown.marks) < 260
    assert "fail" in {mark.kind for mark in shown.marks}
    assert all(0 <= mark.left <= 100 and mark.lane < 4 for mark in shown.marks)


def test_what_a_fork_took_over_does_not_count_as_its_time():
    past = [draft for draft in long_run(20) if not isinstance(draft.event, RunCompleted)]
    forked = replace(past[0], ts="2099-01-01T00:00:00.000Z", event=RunForked("another", len(past)))
    tree = RunTree([*past, forked])

    assert round(listed(ROW, SUMMARY, "", tree, NOW).duration, 3) == round(RunTree(past).now, 3)


def test_the_pulse_counts_the_last_day_hour_by_hour():
    runs = [
        ("2026-03-02T11:30:00.000Z", "completed", 0.25, 1.0, 1),
        ("2026-03-02T09:10:00.000Z", "failed", 0.25, 1.0, 2),
        ("2026-03-02T11:59:00.000Z", "waiting", 0.0, 1.0, 1),
        ("2026-03-01T11:59:00.000Z", "completed", 9.0, 9.0, 1),
    ]

    day = pulse(runs, 1, NOW)

    assert (day.runs, day.open, day.cost, day.failed) == (4, 1, 0.75, 2)
    assert (day.by_hour[-1], day.failed_by_hour[-3]) == (2, 2)
    assert day.p95 == 1.0


def test_sparks_stay_in_their_box():
    assert [y + height for _, y, _, height, _ in spark_bars([0, 3, 9], "hot")] == [36.0, 36.0, 36.0]
    assert spark_bars([0, 3, 9], "hot")[-1][-1] == "hot"
    assert spark_line([0, 5, 10]) == "0.0,36.0 50.0,20.0 100.0,4.0"
