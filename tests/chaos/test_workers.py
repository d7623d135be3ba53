"""The short form of the scenes with workers: each is a process of its own."""

from tests.chaos.test_run import chaos, met


def test_workers_that_are_killed_stopped_and_sent_home_lose_nothing_and_do_nothing_twice():
    """C1, C2, C3: every run ends once and as undisturbed, and nobody had to act."""
    assert met(chaos("workers"), "workers") == 10


def test_a_server_that_crashes_under_load_costs_no_run():
    """C1: nothing that was acknowledged is lost, and every run ends once."""
    assert met(chaos("postgres"), "postgres") == 2


def test_many_runs_at_once_in_one_worker_end_and_a_step_costs_little():
    done = chaos("crowd")

    assert met(done, "crowd") == 20
    assert "CPU per step: worker " in done.stdout
