"""The load scene, with a handful of runs and no waiting."""

from chaos import load, run


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
