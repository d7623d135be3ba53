"""The table: what every command and every HTTP operation answered. Rows hold what is asked, so they are played again."""

import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from folkmoot.cli.main import app
from tests.golden.record.plain import Plain
from tests.golden.record.program import RECORD, call, names, restore

Row = dict[str, Any]
COMMANDS, REQUESTS = RECORD / "commands.jsonl", RECORD / "requests.jsonl"
TRUST = ("trust", "--yes")


def read_rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


class Projects:
    """A project for each row, in the same place, so that what the user has allowed there holds for all."""

    def __init__(self, folder: Path) -> None:
        self._desk = folder / "desk"
        self._known = names()
        assert call(restore(self._desk), *TRUST).code == 0

    def answered(self, calls: Sequence[Sequence[str]]) -> Row:
        """What the last of these calls comes to, in a project that nobody has touched before."""
        shutil.rmtree(self._desk)
        restore(self._desk)
        for arguments in calls:
            done = call(self._desk, *self._filled(arguments))
        plain = Plain(self._known, {"folder": str(self._desk)})
        return {
            "exit": done.code,
            "out": plain.written(done.out),
            "err": "<text>" if done.err.strip() else None,
        }

    def _filled(self, arguments: Sequence[str]) -> list[str]:
        return [fill(each, self._known) for each in arguments]


def fill(text: str, known: dict[str, str]) -> str:
    """With the ids of the record for `{run.completed}` and the like."""
    for name, id in known.items():
        text = text.replace(f"{{{name}}}", id)
    return text


def read_cases() -> Iterator[Row]:
    """The rows of `commands.txt`, not yet answered."""
    known = list(command_names())
    for line in Path(__file__).with_name("commands.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        what, _, rest = line.partition(": ")
        calls = [shlex.split(each) for each in rest.split(" && ")]
        command = max((one for one in known if calls[-1][: len(one.split())] == one.split()), key=len)
        yield {"name": f"{command}: {what}", "calls": calls}


def command_names() -> list[str]:
    """Every command of the program that is installed, from its own tree."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        if not hasattr(command, "commands"):
            yield " ".join(path)
            return
        for name, below in command.commands.items():
            yield from walk(below, (*path, name))

    return sorted(walk(typer.main.get_command(app), ()))


def write_commands() -> None:
    with TemporaryDirectory() as folder:
        projects = Projects(Path(folder))
        rows = [{**case, **projects.answered(case["calls"])} for case in read_cases()]
    assert len({row["name"] for row in rows}) == len(rows), "each has a name of its own"
    write_rows(COMMANDS, rows)
    (RECORD / "commands.json").write_text(json.dumps(command_names(), indent=0) + "\n")
