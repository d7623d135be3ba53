import json
import re
import signal

import pytest

from tests.cli.conftest import FOREVER, ended, interrupted, unread, wait_for

CHAIN = {"a": "handoff: b.ai", "b": "handoff: c.ai", "c": "description: c"}
LOUD = """
@tool(effect="pure", access="read")
def loud() -> str:
    print("LOUD")
    return "x"
"""
HANG = """
import threading

@tool
def hang() -> str:
    threading.Event().wait()
"""
STUBBORN = """
import asyncio

@tool
async def stubborn() -> str:
    print("it has begun", flush=True)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
"""
EVIL = "\x1b[31mred\x1b]0;title\x07 [bold]b[/bold] \x9bm \u202egnp"


def test_the_report_stands_alone_on_stdout_and_the_rest_on_stderr(folkmoot):
    """B-59: one line per step of each child, with who started it; A-106."""
    folkmoot.write(
        {
            "desk": "advisors: [risk.ai]\nrouter: {destinations: [billing.ai]}",
            "risk": "maxTurns: 2",
            "billing": "maxTurns: 2",
        },
        {"desk": [{"route": "billing"}], "risk": ["none"], "billing": [{"report": "Refunded.\nSoon."}]},
    )

    done = folkmoot("run", "desk.ai", "money back")

    assert (done.code, done.out) == (0, "Refunded.\nSoon.\n")
    assert done.err.splitlines()[:6] == [
        "  risk starts as an advisor",
        "  risk is done",
        "desk starts",
        "desk routes to billing",
        "  billing starts, chosen by the router",
        "  billing is done",
    ]
    assert done.err.splitlines()[6].startswith("completed · 3 agents · 3 model requests · ")
    assert done.err.splitlines()[7].startswith("folkmoot runs show 20")


def test_json_is_the_whole_result_in_one_document(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine\u2028\x9b"}]})

    done = folkmoot("run", "a.ai", "x", "--json", "--quiet")

    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert "\u2028" not in done.out
    assert "\x9b" not in done.out
    assert list(done.json) == [
        "runId", "status", "success", "error", "stopReason", "waiting", "finalAgentId", "finalReport",
        "routerSelection", "conversation", "accounting", "totals", "opTree", "evidence",
        "teams", "plans",
    ]  # fmt: skip
    assert done.json["finalReport"]["content"] == "fine\u2028\x9b"


def test_why_a_run_failed_is_said_once(folkmoot):
    folkmoot.write({"a": "maxRetries: 1"}, {"a": [{"error": "down"}]})

    said = folkmoot("run", "a.ai", "x").err.splitlines()

    failed = "failed: no model answered after 1 attempt; the last: down"
    assert said[:3] == ["a starts", "a got no answer from s/demo: down", failed]
    assert [line for line in said if "no model answered" in line] == [failed]


def test_an_answer_that_breaks_its_schema_exits_5(folkmoot):
    schema = "output: {format: json, schema: {type: object, required: [n]}}\nmaxTurns: 1"
    folkmoot.write({"a": schema}, {"a": [{"report": {"m": 1}}]})

    assert folkmoot("run", "a.ai", "x").code == 5


def test_a_wrong_file_exits_4_and_nothing_runs(folkmoot):
    folkmoot.write({"a": "handoff: gone.ai"}, {})

    done = folkmoot("run", "a.ai", "x")
    assert (done.code, done.out) == (4, "")
    assert "a.ai:2:" in done.err
    assert "1 problem; nothing was run" in done.err

    done = folkmoot("run", "a.ai", "x", "--json")
    assert done.code == 4
    assert done.json["problems"][0]["file"] == "a.ai"


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [(("dsek.ai", "x"), b""), (("desk.ai",), b""), (("desk.ai", "-"), b"\xff"), (("desk.ai", "  "), b"")],
    ids=["unknown agent", "nothing asked", "no text", "blank"],
)
def test_wrong_use_exits_2_also_as_json(folkmoot, arguments, stdin):
    folkmoot.write({"desk": "description: d"}, {})

    done = folkmoot("run", *arguments, "--json", stdin=stdin)

    assert done.code == 2
    assert done.json["error"]
    assert not list((folkmoot.folder / ".folkmoot").glob("*.db-wal"))


def test_an_agent_that_does_not_exist_leaves_nothing_behind(folkmoot):
    assert folkmoot("run", "a.ai", "hi").code == 2
    assert list(folkmoot.folder.iterdir()) == []

    folkmoot.write({"desk": "description: d"}, {})
    assert "did you mean 'desk.ai'?" in folkmoot("run", "dsek.ai", "hi").err
    assert not (folkmoot.folder / ".folkmoot").exists()


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("desk/billing", "there is no agent file 'desk/billing'; did you mean 'desk/billing.ai'?"),
        ("desk/biling.ai", "there is no agent file 'desk/biling.ai'; did you mean 'desk/billing.ai'?"),
        ("desk", "'desk' is a folder; name an agent file in it, or a project with --project"),
        (
            "nobody",
            "there is no agent file 'nobody', and no folkmoot.yaml here or above that makes a project",
        ),
    ],
)
def test_without_a_project_only_a_file_is_an_agent_and_no_other_file_is_read(folkmoot, agent, said):
    (folkmoot.folder / "desk").mkdir()
    (folkmoot.folder / "desk" / "billing.ai").write_text("---\nmodels: [none/x]\n---\n")
    (folkmoot.folder / "foreign.ai").write_text("---\nnonsense: 1\n---\n")

    done = folkmoot("run", agent, "hi")

    assert (done.code, done.err.splitlines()[0]) == (2, said)


def test_what_the_check_would_warn_of_is_said_once_before_the_run(folkmoot, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_MAX_TURN", "3")
    folkmoot.write({"a": "cache: 5m"}, {"a": [{"report": "fine"}]})

    done = folkmoot("run", "a.ai", "x")
    assert done.out == "fine\n"
    assert done.err.splitlines()[:3] == [
        "a.ai:2:8: warning: `cache` is checked, but this release does not do it yet",
        "environment:1:1: warning: 'FOLKMOOT_MAX_TURN' has no effect; did you mean 'FOLKMOOT_MAX_TURNS'?",
        "a starts",
    ]
    assert done.err.count("warning") == 2

    assert "warning" in folkmoot("run", "a.ai", "x", "--json").err
    quiet = folkmoot("run", "a.ai", "x", "--json", "--quiet")
    assert (quiet.err, "warnings" in quiet.json) == ("", False)


@pytest.mark.parametrize("arguments", [("run", "a.ai"), ("run", "a.ai", "-")])
def test_the_request_may_come_on_stdin(folkmoot, arguments):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})

    assert folkmoot(*arguments, stdin="grüße\n".encode()).code == 0
    assert folkmoot("runs", "list", "--json").json[0]["request"] == "grüße"


def test_an_agent_is_found_by_id_by_file_and_by_path_from_anywhere(folkmoot, monkeypatch, tmp_path):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})

    for name in ("a", "a.ai", "./a.ai", str(tmp_path / "a.ai")):
        assert folkmoot("run", name, "x", "-q").out == "fine\n"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert folkmoot("run", "../a.ai", "x", "-q").out == "fine\n"
    assert folkmoot("run", "a.ai", "x", "-q", "--project", "..").out == "fine\n"


def test_a_file_without_a_project_runs_with_its_own_folder(folkmoot, tmp_path):
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "one.ai").write_text("---\nmodels: [ollama/none]\nmaxRetries: 1\n---\nx\n")
    (lone / "broken.ai").write_text("---\nnonsense: 1\n---\nx\n")

    done = folkmoot("run", "lone/one.ai", "x", "--set", "models=ollama/none", "--json")

    assert done.code in (1, 4)
    assert "nonsense" not in done.out
    assert not (tmp_path / ".folkmoot").exists()


def test_settings_by_flag_stand_above_the_files(folkmoot):
    folkmoot.write({"a": "maxTurns: 9"}, {"a": {"default": {"calls": [{"tool": "none"}]}}})

    done = folkmoot("run", "a.ai", "x", "--set", "maxTurns=2", "--json")

    assert done.json["stopReason"] == "MAX_TURNS"
    assert done.json["totals"]["modelRequests"] == 2


def test_control_characters_and_markup_of_a_model_never_reach_the_screen(folkmoot):
    folkmoot.write(
        {"a": "advisors: [b.ai]", "b": "maxRetries: 1"},
        {"a": [{"calls": [{"tool": EVIL}]}, {"report": EVIL}], "b": [{"error": EVIL}]},
    )

    done = folkmoot("run", "a.ai", "x")

    safe = "\\u001b[31mred\\u001b]0;title\\u0007 [bold]b[/bold] \\u009bm \\u202egnp"
    assert done.out == safe + "\n"
    assert f"b got no answer from s/demo: {safe}" in done.err
    for command in (("runs", "show", "last"), ("sessions", "list"), ("runs", "list")):
        shown = folkmoot(*command)
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(shown.out + shown.err + done.out + done.err)


def test_what_tools_print_does_not_mix_with_the_report(folkmoot):
    folkmoot.write_with_tool("loud", LOUD)

    done = folkmoot("run", "a.ai", "x")

    assert done.out == "fine\n"
    assert "LOUD" in done.err


def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(folkmoot):
    folkmoot.write(CHAIN, {"a": [{"text": "one", "delay": "300ms"}], "b": ["two"], "c": ["three"]})
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a starts")

    process.stderr.close()

    assert process.stdout.read() == "three\n"
    process.stdout.close()
    assert process.wait() == 0


def test_a_tool_may_print_although_nobody_reads_it(folkmoot):
    folkmoot.write_with_tool("loud", LOUD)
    process = folkmoot.started("run", "a.ai", "x", "--json", "--quiet")

    process.stderr.close()

    assert [call["status"] for call in json.loads(process.stdout.read())["accounting"]] == ["ok"] * 3
    process.stdout.close()
    assert process.wait() == 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_run_whose_report_nobody_reads_comes_to_its_end_and_fails_without_a_traceback(folkmoot, form):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    with unread() as stdout:
        done = ended(folkmoot.started("run", "a.ai", "x", *form, stdout=stdout))
    assert "Traceback" not in done.err
    assert done.code == 1
    assert folkmoot("runs", "list", "--json").json[0]["status"] == "completed"


def test_verbose_shows_every_request(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})

    assert "a asks s/demo, turn 1" in folkmoot("run", "a.ai", "x", "-v").err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_ctrl_c_cancels_the_whole_chain_and_loses_nothing(folkmoot, number):
    """A-45: the running stage is stopped, the next one never starts, the run is recorded as cancelled."""
    folkmoot.write(CHAIN, {"a": ["one"], "b": [FOREVER], "c": ["three"]})
    process = folkmoot.started("run", "a.ai", "x", "--json")
    wait_for(process.stderr, "  b starts")

    done = interrupted(process, number)

    assert done.code == 130
    assert "cancelled: interrupted" in done.err
    assert done.json["status"] == "cancelled"
    statuses = {row["agentId"]: row["status"] for row in folkmoot("sessions", "list", "--json").json}
    assert statuses == {"a": "completed", "b": "cancelled"}


def test_a_run_that_was_started_with_signals_ignored_goes_on_ignoring_them(folkmoot):
    """`nohup folkmoot run … &` outlives its terminal: a closed one and Ctrl-C in it are not for this process."""
    folkmoot.write(CHAIN, {"a": ["one"], "b": [FOREVER], "c": ["three"]})
    process = folkmoot.started(
        "run", "a.ai", "x", "--json", under=["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh"]
    )
    wait_for(process.stderr, "  b starts")
    for number in (signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)

    assert interrupted(process, signal.SIGTERM).json["status"] == "cancelled"  # by the first signal it heeds


def test_the_second_ctrl_c_leaves_at_once_and_the_run_is_interrupted(folkmoot):
    folkmoot.write_with_tool("stubborn", STUBBORN)
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "it has begun")
    process.send_signal(signal.SIGINT)
    wait_for(process.stderr, "stopping")

    assert interrupted(process).code == 130
    assert folkmoot("runs", "list", "--json").json[0]["status"] == "interrupted"


def test_a_tool_that_never_returns_does_not_keep_a_cancelled_run_alive(folkmoot):
    """A-45: the process is gone, although the thread of the tool could not be stopped."""
    folkmoot.write_with_tool("hang", HANG)
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a calls t__hang")

    assert interrupted(process).code == 130
    assert folkmoot("runs", "list", "--json").json[0]["status"] == "cancelled"


def test_a_second_process_sees_and_stops_a_run(folkmoot):
    """A-45: `runs cancel` from elsewhere stops the whole tree."""
    folkmoot.write({"a": "advisors: [b.ai]", "b": "description: b"}, {"a": ["never"], "b": [FOREVER]})
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "  b starts")

    (row,) = folkmoot("runs", "list", "--json").json
    assert row["status"] == "running"
    assert f"process {process.pid} on " in folkmoot("runs", "show", "last").out
    held = folkmoot("runs", "resume", "last", "--json")
    assert held.code == 1
    assert f"process {process.pid} on " in held.json["error"]

    stopped = folkmoot("runs", "cancel", row["runId"][:17], "--reason", "wrong customer", "--json")
    assert stopped.json == {"runId": row["runId"], "status": "cancelled"}
    done = ended(process)
    assert (done.code, done.out) == (130, "")
    assert "cancelled: wrong customer" in done.err
    (row,) = folkmoot("runs", "list", "--json").json
    assert (row["status"], row["error"]) == ("cancelled", "wrong customer")


def test_two_runs_at_once_in_one_project_do_not_disturb_each_other(folkmoot):
    folkmoot.write(
        {"a": "description: a", "b": "description: b"}, {"a": [FOREVER], "b": [{"report": "fine"}]}
    )
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a starts")

    done = folkmoot("run", "b.ai", "x")

    assert (done.code, done.out) == (0, "fine\n")
    assert "a starts" not in done.err
    assert [row["status"] for row in folkmoot("runs", "list", "--json").json] == ["completed", "running"]
    assert interrupted(process).code == 130


def test_json_on_interruption_before_anything_ran_is_a_document_too(folkmoot, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("folkmoot.cli.perform.run_in_terminal", interrupt)
    folkmoot.write({"a": "description: a"}, {})

    done = folkmoot("run", "a.ai", "x", "--json")

    assert (done.code, json.loads(done.out)["error"]) == (130, "interrupted")


def test_a_blank_request_leaves_no_journal_behind(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})

    done = folkmoot("run", "a.ai", "  ")

    assert (done.code, done.out) == (2, "")
    assert "there is nothing to ask a.ai" in done.err
    assert not (folkmoot.folder / ".folkmoot").exists()


def test_a_route_without_a_message_arrives_in_the_block_of_the_request(folkmoot):
    """A-37, K-124."""
    folkmoot.write({"a": "router: {destinations: [b.ai]}", "b": ""}, {"a": [{"route": "b"}], "b": ["two"]})

    assert folkmoot("run", "a.ai", "I was charged twice.").out == "two\n"
    events = [json.loads(line) for line in folkmoot("log", "export", "last").out.splitlines()]
    asked = [event["data"]["request"] for event in events if event["type"] == "session.started"]
    assert asked[0] == "I was charged twice."
    assert re.fullmatch(r"<(original_user_request__[0-9a-f]{12})>\nI was charged twice\.\n</\1>", asked[1])


def test_a_first_stage_that_fails_is_named_and_the_next_one_never_starts(folkmoot):
    """A-44, O-15, K-125."""
    folkmoot.write(CHAIN, {"a": [{"error": {"message": "down", "retryable": False}}], "b": ["two"]})

    done = folkmoot("run", "a.ai", "x")
    assert (done.code, done.out) == (1, "")
    assert "failed: 'a' failed (stage 1 of a -> b): " in done.err
    assert "b starts" not in done.err
