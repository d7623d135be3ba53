"""The crowd of the bench, for a moment."""

from bench import crowd


def test_every_client_of_the_crowd_gets_every_event_of_its_run_once(tmp_path):
    seen = crowd.measured(tmp_path, seconds=0.5)

    assert seen.faults == 0
    assert 0 < seen.p50 <= seen.p99
