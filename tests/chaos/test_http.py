"""The scene of many runs over HTTP, with a few."""

from chaos import run
from chaos.http import Figures, Part, serve_many


def test_runs_asked_for_over_http_steadily_and_at_once_all_complete_where_they_began():
    """K-9."""
    figures = serve_many(25)

    assert figures.faults == []
    assert 0 < figures.spread.median <= figures.spread.p99
    assert 0 < figures.burst.median <= figures.burst.p99


def test_an_aim_that_is_missed_is_a_fault(monkeypatch):
    slow, late = Part(1.0, 501.0, 600.0, 201.0), Part(1.0, 900.0, 2000.0, 300.0)
    monkeypatch.setattr(
        run, "serve_many", lambda runs: Figures(slow, late, 10_000, 30.0, ["a run was refused"])
    )

    assert run._http(1000, 1).faults == [
        "a run was refused",
        "p99 501 ms, the aim is at most 500",
        "/api/health took 201 ms, the aim is at most 200",
    ]
