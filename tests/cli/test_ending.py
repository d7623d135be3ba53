import pytest

from folkmoot import Result
from folkmoot.cli.failure import exit_code, write_result
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunStarted,
)
from folkmoot.domain.inbox_events import ApprovalRequested
from folkmoot.domain.report import Outcome, Report

BROKE_SCHEMA = Outcome(agent="a", span="0", report=Report(metadata={"reason": "schema_violated"}), error="no")
OWN_WORDS = Outcome(agent="a", span="0", report=Report(metadata={"reason": "schema_violated"}))


def result(*ends):
    events = [RunStarted(agent="a.ai", request="x", graph="g", seed="s"), *(end for end in ends if end)]
    return Result("run-1", [Draft("2026-01-01T00:00:00.000Z", event, "run-1", "0", "a") for event in events])


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (RunCompleted(outcome=Outcome(agent="a", span="0")), 0),
        (RunCompleted(outcome=OWN_WORDS), 0),
        (RunFailed(error="no", stop_reason="SYSTEM_ERROR"), 1),
        (RunFailed(error="no", stop_reason="MAX_TURNS", outcome=BROKE_SCHEMA), 5),
        (RunParked(waiting=("an approval",)), 6),
        (RunCancelled(reason="enough"), 130),
        (None, 1),
    ],
)
def test_the_exit_code_tells_how_it_went(end, code):
    assert exit_code(result(end)) == code


def test_a_run_that_waits_says_for_what_and_how_to_go_on(capsys):
    """O-22."""
    asked = ApprovalRequested("ap_1", 1, 1, "refund", {"euros": 5}, "h", "medium")

    assert write_result(result(asked, RunParked(waiting=("ap_1",))), as_json=False) == 6
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[:4] == [
        'a waits: ap_1: {"arguments":{"euros":5},"tool":"refund"}',
        "  folkmoot approvals approve ap_1",
        '  folkmoot approvals deny ap_1 --reason "…"',
        "to go on: folkmoot runs resume run-1",
    ]
