"""The scenes of load, in process and over HTTP, with a handful of runs."""

from chaos import http, load, run


def test_every_acknowledgement_is_timed(monkeypatch):
    monkeypatch.setattr(load, "RAMP", 0.0)
    monkeypatch.setattr(load, "LATENCY", (0.0, 0.0))

    figures = load.load(5)

    assert (figures.runs, figures.at_once, figures.appends) == (5, 5, 5 * 10)
    assert 0 < figures.median_ms <= figures.p99_ms


def test_an_aim_that_is_missed_is_a_fault(monkeypatch):
    slow = load.Figures(1000, 9.0, 10_000, 2.0, 51.0, 401.0, 1000)
    monkeypatch.setattr(run, "load", lambda runs: slow)

    assert run._load(1000, 1).faults == ["p99 51.0 ms, the aim is under 50", "401 MB, the aim is under 400"]


def test_runs_asked_for_over_http_steadily_and_at_once_all_complete_where_they_began():
    """K-9."""
    assert http.serve_many(25).faults == []


def test_an_answer_over_http_that_comes_too_late_is_a_fault(monkeypatch):
    slow = http.Part(1.0, 501.0, 600.0, 201.0)
    figures = http.Figures(slow, slow, 10_000, 30.0, [])
    monkeypatch.setattr(run, "serve_many", lambda runs: figures)

    late = ["p99 501 ms, the aim is at most 500", "/api/health took 201 ms, the aim is at most 200"]
    assert run._http(1000, 1).faults == late
