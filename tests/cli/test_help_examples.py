"""Every example in every `--help` is typed, in a project in which it makes sense, and does what it says."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from folkmoot.cli.main import app
from tests.cli.conftest import PROGRAM, soon
from tests.cli.help_stories import ELSEWHERE, LASTING, STORIES
from tests.docs.sense import understand

SHELL = re.compile(r"&&|[|>~]|\$\(|^[A-Z_]+=")
IDS = {
    r"20260101-101500-1a2b3c4d:\w+": lambda at: at("sessions", "list", "--live", "last")[0]["id"],
    r"20260101-101500(-1a2b3c4d)?": lambda at: at("runs", "list")[-1]["runId"],
    r"task_1f0a2b": lambda at: at("tasks", "list")[-1]["id"],
    r"ws_1f0a2b3c(-…)?": lambda at: at("work", "list")[0]["id"],
    r"conv_1a2b3c": lambda at: at("conversations", "list", "--all")[0]["conversationId"],
    r"(ap|q|doubt)_1f0a2b3c4d5e": lambda at: max(
        at("inbox", "list", "--all"), key=lambda item: item["since"]
    )["id"],
}
"""What stands for something that was made before, and how a person would look it up."""


def examples() -> Iterator[str]:
    """As they stand in the help of every command, continued lines put together."""
    waiting = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for text in filter(None, (command.help, command.epilog)):
            shown = text.partition("Examples:\n")[2].partition("\n\n")[0]
            yield from (
                " ".join(line.split()) for line in shown.replace("\\\n", " ").splitlines() if line.strip()
            )


def test_every_example_is_told_in_a_story():
    """K-67."""
    told = [line for story in STORIES.values() for line in story.lines if not line.startswith("$ ")]

    assert sorted({re.sub(r"  #.*", "", line) for line in told} | set(ELSEWHERE)) == sorted(set(examples()))


@pytest.mark.parametrize("example", ELSEWHERE)
def test_what_needs_more_than_this_machine_is_understood(example):
    understand(shlex.split(example)[1:])


@pytest.mark.parametrize("name", STORIES)
def test_the_examples_of_every_help_do_what_they_say(folkmoot, name, monkeypatch, tmp_path):
    """K-67, A-18: `  #6` behind a line is the exit code that it has here."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    desk = folkmoot.folder = tmp_path / "home" / "desk"
    desk.mkdir(parents=True)
    monkeypatch.chdir(desk)
    STORIES[name].prepare(folkmoot)

    faults = []
    for line in STORIES[name].lines:
        command, _, code = line.removeprefix("$ ").partition("  #")
        done, said = typed(folkmoot, with_ids(folkmoot, command))
        faults += [f"{line}: {done}: {said}"] if done != int(code or 0) else []
    assert not faults, "\n".join(faults)


def with_ids(folkmoot, command: str) -> str:
    def looked_up(*arguments: str):
        return folkmoot(*arguments, "--json").json or [{"id": "none", "since": ""}]

    for shape, look_up in IDS.items():
        if re.search(shape, command):
            command = re.sub(shape, lambda _, found=look_up: found(looked_up), command)
    return command


def typed(folkmoot, command: str) -> tuple[int, str]:
    if SHELL.search(command) or not command.startswith("folkmoot "):
        shell = ["bash", "-ec", in_a_shell(command)]
        done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr
    if command.startswith(LASTING):
        return followed(folkmoot, command)
    done = folkmoot(*shlex.split(command)[1:])
    return done.code, done.out + done.err


def in_a_shell(command: str) -> str:
    program = f'function folkmoot {{ {shlex.join(PROGRAM)} "$@"; }}'
    return f"set -o pipefail\n{program}\n{command}"


def followed(folkmoot, command: str) -> tuple[int, str]:
    """What goes on until Ctrl-C: at a port that is free, and open to this machine alone."""
    words = shlex.split(command.replace("0.0.0.0", "127.0.0.1"))[1:]
    words += ["--port", "0"] if words[0] == "serve" else []
    process = folkmoot.started(*words)
    try:
        soon(lambda: process.poll() is not None or reads_its_journal(process.pid))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return 0 if process.returncode == 130 else process.returncode, out + err


def reads_its_journal(pid: int) -> bool:
    return any("folkmoot.db" in str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir())
