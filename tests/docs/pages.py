"""Plays the examples of a documentation page: top to bottom, in one folder, as a reader would who pastes them.

A fenced block says in a comment on the line before it what becomes of it:

    <!-- file: desk/a.ai -->    it is written to this file
    <!-- append: desk/a.ai -->  it is put at the end of this file
    <!-- run -->                console: each `$ command` is run, and prints what is shown; python: it is run
    <!-- run in: examples/a --> the same, in a copy of this folder of the repository
    <!-- output -->             what the python block before it printed
    <!-- read by AGENT -->      the first message of AGENT's latest session
    <!-- not run: why -->       it is only shown

Only a `text` block needs no mark. In what is shown, `...` stands for anything, and run ids, hashes and times may differ.
A command ends with 0 unless `$ echo $?` comes after it. One that ends with `&` goes on behind the others as soon as it
has printed the last line that is shown for it; `$ kill %1` ends the first of them, and the end of the page all. An id
that a command printed (`ap_…`, `doubt_…`) may be used by those after it, as the page shows it.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, TypeVar

from checks.files import ROOT
from folkmoot.cli.main import main
from folkmoot.domain.events import SessionStarted
from folkmoot.engine.workshop import open_journal
from folkmoot.ports import Query
from tests.docs.jobs import Jobs

T = TypeVar("T")
_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>.+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_MASKS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\d{8}-\d{6}-[0-9a-f]{8}", "RUN"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"(?<=__)[0-9a-f]{12}\b", "NONCE"),
        (r"(?<=_)[0-9a-f]{8}\b", "SUFFIX"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?", "MOMENT"),
        (r"\b\d+(\.\d+)? ?(ms|s)\b", "TIME"),
        (r"(?<=\bap_)[0-9a-f]{12}\b", "ID"),
        (r"(?<=\bdoubt_)[0-9a-f]{12}\b", "ID"),
        (r"[ \t]+", " "),
    )
]
_ID = re.compile(r"\b(?:ap|doubt)_[0-9a-f]{12}\b")
_IN_A_SHELL = re.compile(r"[|<>&;$]|^(?!folkmoot )")


class Block(NamedTuple):
    mark: str
    language: str
    text: str
    line: int


class Lie(AssertionError):
    """The page says something that is not so."""


def blocks(page: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(page):
        yield Block(
            fence["mark"] or "", fence["language"], fence["text"], page[: fence.start()].count("\n") + 1
        )


def play(page: str, instead: Mapping[str, str] | None = None) -> int:
    """Everything on the page, in the current folder, which may be another one afterwards; how much was done.

    `instead` says what stands here for something that the page shows, such as the address of a server.
    """
    for shown, here in (instead or {}).items():
        page = page.replace(shown, here)
    player = _Player(Path.cwd())
    try:
        return sum(player.take(block) for block in blocks(page))
    finally:
        player.jobs.end()


class _Player:
    def __init__(self, home: Path) -> None:
        self._home = home
        self.jobs = Jobs()
        self._printed = ""
        self._code = 0
        self._ids: dict[str, str] = {}

    def take(self, block: Block) -> int:
        word, _, rest = block.mark.partition(": ")
        match word, block.language:
            case (("file" | "append"), _):
                path = self._home / rest
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a" if word == "append" else "w") as file:
                    file.write(block.text)
            case "run", "console":
                self._run_commands(block)
            case "run in", "console":
                shutil.copytree(ROOT / rest, self._home / Path(rest).name, dirs_exist_ok=True)
                os.chdir(self._home / Path(rest).name)
                self._run_commands(block)
            case "run", "python":
                code = compile(block.text, f"line {block.line}", "exec")
                _, self._printed = _captured(lambda: exec(code, {"__name__": "__main__"}))
            case "output", _:
                _compare(block, "the python block", block.text, self._printed)
            case _, "text" if word.startswith("read by "):
                _compare(block, word, block.text, _first_message(word.removeprefix("read by ")))
            case ("not run", _) | ("", "text"):
                return 0
            case _:
                raise Lie(f"line {block.line}: this block has no mark that says what becomes of it: {word!r}")
        return 1

    def _run_commands(self, block: Block) -> None:
        steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
        for position, (command, shown) in enumerate(steps):
            self._code, printed = self._run(
                _ID.sub(lambda each: self._ids.get(each[0], each[0]), command), shown
            )
            _compare(block, f"`{command}`", shown, printed)
            self._ids |= zip(_ID.findall(shown), _ID.findall(printed), strict=False)
            asked = [next_command for next_command, _ in steps[position + 1 : position + 2]] == ["echo $?"]
            if self._code and not asked:
                raise Lie(f"line {block.line}: `{command}` ended with {self._code}:\n{printed}")

    def _run(self, command: str, shown: str) -> tuple[int, str]:
        if command == "echo $?":
            return 0, f"{self._code}\n"
        if command.endswith(" &"):
            last = shown.splitlines()[-1]
            return self.jobs.start(command, lambda line: _fits(last, line))
        if self.jobs.killed(command):
            return 0, ""
        if command.startswith("cd "):
            os.chdir(command.removeprefix("cd "))
            return 0, ""
        if not _IN_A_SHELL.search(command):
            return _captured(lambda: main(shlex.split(command)[1:]))
        done = subprocess.run(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout


def _captured(work: Callable[[], T]) -> tuple[T, str]:
    """What it returns and what it prints, on stdout and stderr together, as a terminal would show it."""
    written, before = io.BytesIO(), sys.stdin
    stream = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            returned = work()
        return returned, written.getvalue().decode()
    finally:
        sys.stdin = before


def _compare(block: Block, what: str, shown: str, real: str) -> None:
    if not _fits(shown, real):
        raise Lie(f"line {block.line}: {what} is shown with\n\n{shown}\nbut gives\n\n{real}")


def _fits(shown: str, real: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*?") + "\n"
        for line in _masked(shown).splitlines()
    )
    return bool(re.fullmatch(pattern, _masked(real)))


def _masked(text: str) -> str:
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"


def _first_message(agent: str) -> str:
    async def find() -> str:
        journal = open_journal(Path.cwd(), readonly=True)
        try:
            found = [entry.draft async for entry in journal.read(Query(types=("session.started",)))]
        finally:
            await journal.close()
        latest = [draft.event for draft in found if draft.agent_id == agent][-1]
        assert isinstance(latest, SessionStarted)
        return latest.request

    return asyncio.run(find())
