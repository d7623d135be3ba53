import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import folkmoot as package
from folkmoot.cli.main import main, move_global_options_first
from tests.cli.conftest import PROGRAM, ended, unread

ANSWER = {"a": [{"report": "fine"}]}


def test_the_version_is_that_of_the_package(folkmoot):
    assert folkmoot("--version").out == f"folkmoot {package.__version__}\n"


def test_help_names_every_command_and_how_agents_work_together(folkmoot):
    """A-18."""
    done = folkmoot("--help")

    assert done.code == 0
    for word in (
        "init",
        "check",
        "run",
        "runs",
        "sessions",
        "agents",
        "config",
        "log",
        "graph",
        "doctor",
        "trust",
    ):
        assert f"\n  {word} " in done.out
    for key in ("handoff", "router", "advisors", "team", "chat"):
        assert f"`{key}`" in done.out


def test_global_options_may_stand_after_the_command():
    given = ["run", "a.ai", "-v", "--set", "maxTurns=3", "--project=x", "text", "--", "-v"]

    assert move_global_options_first(given) == [
        "-v",
        "--set",
        "maxTurns=3",
        "--project=x",
        "run",
        "a.ai",
        "text",
        "--",
        "-v",
    ]


@pytest.mark.parametrize(
    "arguments", [("rnu",), ("run", "--no-such-option"), ("runs", "show"), ("--set", "x", "doctor")]
)
def test_wrong_use_is_exit_2_with_a_hint_and_without_a_traceback(folkmoot, arguments):
    done = folkmoot(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "command",
    ["check", "run a.ai x", "runs list", "runs show last", "runs cancel last", "runs resume last", "sessions list",
     "agents list", "agents show a", "config show", "log export", "graph", "doctor", "trust"],
)  # fmt: skip
def test_a_project_folder_that_does_not_exist_is_wrong_use_for_every_command(folkmoot, command):
    done = folkmoot("--project", "nowhere", *command.split())

    assert (done.code, done.out) == (2, "")
    assert "there is no folder 'nowhere'" in done.err


def test_wrong_use_with_json_is_one_document_too(folkmoot):
    done = folkmoot("runs", "show", "--json")

    assert done.code == 2
    assert done.json["problems"] == []
    assert "RUN" in done.json["error"]


def test_windows_is_refused_with_the_way_out(capsys):
    assert main(["--version"], platform="win32") == 2
    assert "WSL" in capsys.readouterr().err


def test_a_fault_of_our_own_is_a_short_message_and_the_way_to_its_traceback(folkmoot, monkeypatch):
    folkmoot.write({"a": "description: a"}, ANSWER)
    monkeypatch.setattr("folkmoot.cli.check.check_project", lambda *_: 1 / 0)

    done = folkmoot("check")
    assert (done.code, done.out) == (1, "")
    assert "folkmoot broke: ZeroDivisionError: division by zero" in done.err
    assert "-v" in done.err
    assert "Traceback" not in done.err

    assert "Traceback" in folkmoot("check", "-v").err
    assert folkmoot("check", "--json").json["error"] == "folkmoot broke: ZeroDivisionError: division by zero"


def test_the_log_file_holds_every_step_and_the_traceback(folkmoot):
    folkmoot.write({"a": "description: a"}, ANSWER)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    subprocess.run(
        [*PROGRAM, "--log-file", "steps.log", "run", "a.ai", "x", "-q"],
        cwd=folkmoot.folder,
        env=env,
        check=True,
    )

    steps = (folkmoot.folder / "steps.log").read_text()
    assert "INFO folkmoot a asks s/demo, turn 1" in steps
    assert "INFO folkmoot a is done" in steps


def test_a_traceback_goes_into_the_log_file(folkmoot, monkeypatch):
    folkmoot.write({"a": "description: a"}, ANSWER)
    monkeypatch.setattr("folkmoot.cli.check.check_project", lambda *_: 1 / 0)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])

    done = folkmoot("--log-file", "broken.log", "check")

    assert "the traceback is in the log file" in done.err
    assert "ZeroDivisionError" in (folkmoot.folder / "broken.log").read_text()
    logging.getLogger().handlers[0].close()


def test_a_log_file_that_cannot_be_written_is_wrong_use(folkmoot):
    assert folkmoot("--log-file", "no/such/folder/x.log", "doctor").code == 2


def test_keys_come_from_an_env_file_only_when_it_is_named(folkmoot, monkeypatch):
    folkmoot.write({"a": "models: [openai/gpt-4o-mini]"}, {})
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    (folkmoot.folder / ".env").write_text(
        "# a comment\n\nexport OPENAI_API_KEY='secret of mine' \nOTHER=x # why\n"
    )

    assert "OPENAI_API_KEY is not set" in folkmoot("doctor").out
    done = folkmoot("doctor", "--env-file", ".env")
    assert "OPENAI_API_KEY is set" in done.out
    assert "secret of mine" not in done.out + done.err
    assert os.environ["OTHER"] == "x"


def test_the_environment_stands_above_the_env_file(folkmoot, monkeypatch):
    monkeypatch.setenv("FOLKMOOT_MAX_TURNS", "7")
    folkmoot.write({"a": "description: a"}, ANSWER)
    (folkmoot.folder / "env").write_text("FOLKMOOT_MAX_TURNS=9")

    settings = folkmoot("--env-file", "env", "config", "show", "--json").json
    assert {"key": "maxTurns", "value": 7, "source": "environment FOLKMOOT_MAX_TURNS"} in settings


@pytest.mark.parametrize("content", [b"no equals sign", b"1X=y", b"\xff\xfe"])
def test_an_env_file_that_is_none_is_wrong_use(folkmoot, content):
    (folkmoot.folder / "env").write_bytes(content)

    assert folkmoot("--env-file", "env", "doctor").code == 2


@pytest.mark.parametrize("arguments", [("agents", "template"), ("runs", "show", "last", "--json")])
def test_a_reader_that_goes_away_is_no_fault(folkmoot, arguments):
    folkmoot.write({"a": "description: a"}, ANSWER)
    with unread() as stdout:
        done = ended(folkmoot.started(*arguments, stdout=stdout))
    assert "Traceback" not in done.err
    assert done.code == 1


def test_the_shell_gets_completions(folkmoot, monkeypatch):
    folkmoot.write({"desk": "description: a", "deck": "description: b"}, ANSWER)
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "_FOLKMOOT_COMPLETE": "complete_bash",
        "COMP_WORDS": "folkmoot run de",
        "COMP_CWORD": "2",
    }

    done = subprocess.run(PROGRAM, cwd=folkmoot.folder, env=env, capture_output=True, text=True)

    assert done.stdout.split() == ["deck.ai", "desk.ai"]


def test_a_closed_stderr_takes_nothing_from_a_run_and_writes_into_no_other_file(folkmoot):
    """Its number would be given to the next file that is opened: the log, or the journal."""
    folkmoot.write({"a": ""}, {"a": [{"report": "fine"}]})
    words = shlex.join([*PROGRAM, "--log-file", "log", "run", "a.ai", "hi"])
    done = subprocess.run(
        ["sh", "-c", f"{words} 2>&-"], cwd=folkmoot.folder, stdout=subprocess.PIPE, check=True
    )

    assert done.stdout == b"fine\n"
    assert all(" INFO " in line for line in (folkmoot.folder / "log").read_text().splitlines())
    assert [row["status"] for row in folkmoot("runs", "list", "--json").json] == ["completed"]


@pytest.mark.parametrize(
    "command", [["agents", "list", "--json"], ["agents", "list"], ["run", "b.ai", "hi", "--json"]]
)
def test_no_room_for_stdout_is_told_on_stderr(folkmoot, command):
    folkmoot.write({"a": ""}, {"a": [{"report": "fine"}]})
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *command],
            cwd=folkmoot.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert "No space left on device" in done.stderr or "no agent 'b.ai'" in done.stderr
    assert "Traceback" not in done.stderr
