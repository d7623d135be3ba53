"""The table of the bench."""

import pytest

from bench import run
from bench.measure import Side


def test_cost_is_a_ratio_that_may_not_be_greater_than_the_target():
    [row] = run.rows_of("S1", bare=Side(0.001, 1, 0), folkmoot=Side(0.0025, 1, 0))

    assert (row.bare, row.folkmoot, row.ratio, row.target, row.ok) == (1.0, 2.5, 2.5, "≤ 3.0", True)


def test_the_crowd_is_measured_in_runs_per_second_and_may_not_be_slower_than_the_target():
    [row] = run.rows_of("S5", bare=Side(1, 0.2, 0), folkmoot=Side(1, 1.0, 0))

    assert (row.bare, row.folkmoot, row.unit, row.ratio, row.ok) == (1000.0, 200.0, "runs/s", 0.2, False)


def test_the_long_talk_has_a_second_line_for_how_its_cost_grows():
    cost, growth = run.rows_of("S6", bare=Side(0.1, 1, 2.0), folkmoot=Side(0.2, 1, 3.0))

    assert (cost.ratio, cost.ok) == (2.0, True)
    assert (growth.ratio, growth.ok) == (1.5, False)


def test_sub_agents_have_a_second_line_for_what_each_of_them_costs():
    """B-53."""
    cost, each = run.rows_of("S8", bare=Side(0.004, 1, 0), folkmoot=Side(0.2, 1, 0))

    assert (cost.ratio, cost.ok) == (50.0, False)
    assert (each.folkmoot, each.unit, each.target, each.ok) == (25.0, "ms CPU", "< 20", False)


def test_a_missed_target_is_said_on_its_line():
    row = run.Row("S1", "one agent", 1.0, 4.0, "ms CPU", 4.0, "≤ 3.0", ok=False, sent="1.0 / 1.1 kB sent")

    words = " ".join(run.line(row).split())
    assert words == "S1 one agent 1.00 4.00 ms CPU 4.00 ≤ 3.0 MISSED 1.0 / 1.1 kB sent"


def test_an_unknown_scene_is_wrong_use(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["S99"])

    assert "there is no scene S99" in capsys.readouterr().err
