import pytest

from folkmoot import Result
from folkmoot.cli.ending import exit_code, finish
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunStarted,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.report import Outcome, Report

BROKE_SCHEMA = Outcome(agent="a", span="0", report=Report(metadata={"reason": "schema_violated"}), error="no")
OWN_WORDS = Outcome(agent="a", span="0", report=Report(metadata={"reason": "schema_violated"}))


PAY = ToolStarted(
    turn=1, call=2, tool="pay", arguments={}, effect="once", access="write", key="key of pay", decision="d"
)


def result(*ends):
    events = [RunStarted(agent="a.ai", request="x", graph="g", seed="s"), *filter(None, ends)]
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
    assert finish(result(RunParked(waiting=("the approval of a refund",))), as_json=False) == 6

    said = capsys.readouterr()
    assert said.out == ""
    assert "waits for the approval of a refund\nto go on: folkmoot runs resume run-1\n" in said.err


def test_a_run_in_doubt_says_which_call_it_is_and_that_only_its_end_is_left(capsys):
    doubt = ToolInDoubt(turn=1, call=2, tool="pay")
    waits = RunParked(waiting=("key of pay", "an approval"))

    assert finish(result(PAY, doubt, waits), as_json=False) == 6

    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "pay (agent a, turn 1, call 2) may or may not have happened; only a person can tell",
        "waits for an approval",
        "this release cannot be told what became of it; to end the run: folkmoot runs cancel run-1",
    ]
    assert not [line for line in said if "resume" in line]
