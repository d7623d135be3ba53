"""The table: what every command and every HTTP operation of 0.1.0 answered. Rows hold what is asked, so they are played
again. They were recorded once; the story that filled the project is told by its journal."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.golden.record.plain import Plain
from tests.golden.record.program import RECORD, call, names, restore

Row = dict[str, Any]
COMMANDS, REQUESTS = RECORD / "commands.jsonl", RECORD / "requests.jsonl"
TRUST = ("trust", "--yes")


def read_rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text().splitlines()]


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
