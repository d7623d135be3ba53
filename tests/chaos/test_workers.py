"""The short form of the scenes with workers: each is a process of its own."""

import pytest

from tests.chaos.test_run import chaos, met


def test_workers_that_are_killed_stopped_and_sent_home_lose_nothing_and_do_nothing_twice():
    """C1, C2, C3: every run ends once and as undisturbed, and nobody had to act."""
    assert met(chaos("workers"), "workers") == 10


def test_a_worker_stopped_amid_a_call_does_no_harm_when_it_goes_on():
    """C3, K-7, K-11: others took over, a person answered, a step took longer than a lease."""
    assert met(chaos("zombies"), "zombies") == 2


def test_a_worker_whose_commit_was_not_answered_does_not_call_when_others_have_taken_over():
    """C3, K-7, K-11: the entry is there, the run is not its own."""
    assert met(chaos("swallow"), "swallow") == 1


@pytest.mark.parametrize("planted", ["check", "lookup", "renewal"])
def test_a_worker_that_acts_for_a_run_it_has_lost_is_found_out(planted):
    """K-11: without a look at the clock before a call, at the epoch of a lost commit, or without renewals."""
    for seed in ("1", "2", "3"):  # on a busy machine a zombie may come back too late to do harm
        done = chaos("--planted", planted, "--count", "1", "--seed", seed)
        if done.returncode:
            break

    assert done.returncode == 1
    assert "its call arrived 2 times" in done.stdout


def test_a_server_that_crashes_under_load_costs_no_run():
    """C1: nothing that was acknowledged is lost, and every run ends once."""
    assert met(chaos("postgres"), "postgres") == 2


def test_many_runs_at_once_in_one_worker_end_and_a_step_costs_little():
    done = chaos("crowd")

    assert met(done, "crowd") == 20
    assert "CPU per step: worker " in done.stdout
