"""`runs replay`, `runs diff`, `runs fork` and `runs resume --with-current-files`, as one types them."""

import json
import signal

import pytest

from tests.cli.conftest import FOREVER, interrupted, wait_for

FILES = {
    "desk": "router: {destinations: [billing.ai]}",
    "billing": "description: money\nmodels: [s/demo]",
}
SCRIPT = {"desk": [{"route": "billing"}], "billing": [{"report": "paid"}]}


@pytest.fixture
def ran(folkmoot):
    folkmoot.write(FILES, SCRIPT)
    assert folkmoot("run", "desk.ai", "money back", "-q").out == "paid\n"
    return folkmoot


def entries(folkmoot, run="last"):
    return [json.loads(line) for line in folkmoot("log", "export", run).out.splitlines()]


def place(folkmoot, type, agent):
    found = [each for each in entries(folkmoot) if (each["type"], each["agentId"]) == (type, agent)]
    return str(found[0]["runSeq"])


def test_a_replay_prints_what_it_compared_and_records_nothing(ran):
    before = ran("log", "export").out
    done = ran("runs", "replay", "last")

    count = len(before.splitlines())
    assert done.code == 0
    assert done.out.startswith(f"replayed {count} events, state hash ")
    assert done.out.endswith(", equal\n")
    shown = ran("runs", "replay", "last", "--json").json
    assert (shown["equal"], shown["events"], shown["divergence"]) == (True, count, "")
    assert ran("log", "export").out == before


def test_a_replay_does_not_need_the_files(ran):
    for file in ("desk.ai", "billing.ai", "script.yaml"):
        (ran.folder / file).unlink()
    (ran.folder / "folkmoot.yaml").write_text("nonsense: true")

    assert ran("runs", "replay", "last").code == 0


def test_a_replay_that_goes_another_way_says_where_and_ends_with_1(ran, monkeypatch):
    """What is found is a change of the program: here a router that does not follow its choice."""
    monkeypatch.setattr("folkmoot.orchestration.transfer.ROUTE", "nothing")
    done = ran("runs", "replay", "last")

    assert done.code == 1
    assert "then it went another way:\n  at 0, entry 6: desk routes to billing; now desk " in done.out
    assert ran("runs", "replay", "last", "--json").json["equal"] is False


def test_a_replay_of_a_run_that_waits_or_was_killed_says_where_the_record_ends(folkmoot):
    folkmoot.write({"a": "handoff: b.ai", "b": "description: b"}, {"a": ["one"], "b": [FOREVER]})
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "  b starts")
    interrupted(process, signal.SIGKILL)
    done = folkmoot("runs", "replay", "last")

    assert done.code == 0
    assert "the record ends after entry" in done.err


def test_two_runs_are_compared_by_what_they_did(ran):
    first = ran("runs", "list", "--json").json[0]["runId"]
    ran.write({}, {"desk": [{"report": "no"}], "billing": []})
    ran("run", "desk.ai", "money back", "-q")
    done = ran("runs", "diff", first, "last")

    assert done.code == 1
    assert done.out.splitlines()[0] == 'at 0 turn 1: A chooses billing, B reports "no"'
    changed = {line.split()[0] for line in done.out.splitlines()[2:]}
    assert {"route", "report", "calls"} <= changed
    shown = ran("runs", "diff", first, "last", "--json").json
    assert shown["first"] == {"span": "0", "turn": 1, "a": "chooses billing", "b": 'reports "no"'}


def test_two_runs_that_did_the_same_do_not_differ(ran):
    first = ran("runs", "list", "--json").json[0]["runId"]
    ran("run", "desk.ai", "money back", "-q")
    done = ran("runs", "diff", first, "last")

    assert (done.code, done.out) == (0, "both runs did the same\n")


def test_a_fork_goes_on_with_another_prompt_model_or_answer(ran):
    source = ran("runs", "list", "--json").json[0]["runId"]
    at = place(ran, "session.started", "billing")
    (ran.folder / "new.md").write_text("Be short.\n")
    ran.write({}, {"billing": [{"report": "paid at once"}]})
    prompt = f"billing.ai={ran.folder / 'new.md'}"
    done = ran("runs", "fork", source, "--at", at, "--prompt", prompt, "--model", "billing=s/other", "-q")

    assert (done.code, done.out) == (0, "paid at once\n")
    assert {each["model"] for each in _data(ran, "llm.request")} == {"s/demo", "s/other"}
    assert _data(ran, "run.forked") == [
        {
            "source": source,
            "at": int(at),
            "changes": ["billing.ai has another prompt", "billing asks s/other"],
        }
    ]
    assert f"  forked   from {source}, entry {at}\n" in ran("runs", "show", "last").out
    answered = ran("runs", "fork", source, "--at", str(int(at) + 2), "--answer", "mine", "--json")
    assert answered.json["finalReport"]["content"] == "mine"


def test_a_fork_of_an_old_run_is_the_last_run_and_took_its_own_time(ran):
    """It bears the entries of the run that it was taken from, with their moments."""
    source = ran("runs", "list", "--json").json[0]
    newer = ran("run", "desk.ai", "money back", "--json").json["runId"]
    fork = ran("runs", "fork", source["runId"], "--at", "3", "--json").json["runId"]
    listed = ran("runs", "list", "--json").json

    assert [row["runId"] for row in listed] == [fork, newer, source["runId"]]
    assert listed[0]["startedAt"] >= listed[1]["endedAt"]


def _data(folkmoot, type):
    return [each["data"] for each in entries(folkmoot) if each["type"] == type]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--at", "99"], "there is no entry 99"),
        (["--at", "2", "--prompt", "billing.ai"], "--prompt takes AGENT=…"),
        (["--at", "2", "--prompt", "billing.ai=nothing.md"], "the prompt 'nothing.md' cannot be read"),
        (["--at", "2", "--request", "x"], "give another one with --at 1"),
    ],
)
def test_a_fork_that_makes_no_sense_is_refused_and_nothing_is_recorded(ran, arguments, said):
    done = ran("runs", "fork", "last", *arguments)

    assert done.code == 2
    assert said in done.err
    assert len(ran("runs", "list", "--json").json) == 1


def test_a_killed_run_goes_on_with_the_present_files_if_told_to(folkmoot):
    files = {"a": "handoff: b.ai", "b": "description: b"}
    folkmoot.write(files, {"a": ["one"], "b": [FOREVER]})
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "  b starts")
    interrupted(process, signal.SIGKILL)
    (folkmoot.folder / "b.ai").rename(folkmoot.folder / "c.ai")
    folkmoot.write({"a": "handoff: c.ai"}, {"b": ["two"]})
    refused = folkmoot("runs", "resume", "last", "--with-current-files")
    assert refused.code == 2
    assert "b.ai has begun, and there is no such agent any more" in refused.err

    (folkmoot.folder / "c.ai").unlink()
    folkmoot.write(files | {"b": "description: another b"}, {"b": ["two"]})
    done = folkmoot("runs", "resume", "last", "--with-current-files", "-q")

    assert (done.code, done.out) == (0, "two\n")
    assert [each["changed"] for each in _data(folkmoot, "run.repinned")] == [["b.ai"]]
    assert folkmoot("runs", "replay", "last").code == 0
