"""Plays the examples of a documentation page: top to bottom, in one folder, as a reader would who pastes them.

A fenced block says in a comment on the line before it what becomes of it:

    <!-- file: desk/a.ai -->    it is written to this file
    <!-- append: desk/a.ai -->  it is put at the end of this file
    <!-- run -->                console: each `$ command` is run, and prints what is shown; sh: each line is run;
                                python: it is run
    <!-- run in: examples/a --> the same, in a copy of this folder of the repository
    <!-- output -->             what the python block before it printed
    <!-- read by AGENT -->      the first message of AGENT's latest session
    <!-- result of TOOL -->     what the latest call of TOOL gave; with TOOL of AGENT, of that agent's
    <!-- serve -->              console: `folkmoot serve` is started on a free port, and stays until the page ends or
                                starts another
    <!-- served -->             the next line that it prints
    <!-- played by tests/… -->  a test of its own plays it, and names the page
    <!-- not run: why -->       it is only shown, for one of the REASONS, but makes sense

In what is shown, `...` stands for anything, and run ids, hashes and times may differ. A command ends with 0 unless
`$ echo $?` comes after it. One that ends with `&` goes on behind the others as soon as it has printed the last line that
is shown for it; `$ kill %1` ends the first of them, and the end of the page all. `$ export NAME=value` holds until then.
An id in a command is the one that was printed where the page shows it, or else the latest of its kind.
"""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeVar

from checks.files import ROOT
from folkmoot.cli.main import main
from folkmoot.site.pages import read_page
from tests.docs.jobs import Jobs
from tests.docs.sense import nonsense
from tests.docs.shown import Block, Lie, compare, first_message, fits, result

T = TypeVar("T")
REASONS = frozenset(("a drawing", "for another program", "installs packages", "not installed here"))
"""Why a block may only be shown."""
_SERVER = "127.0.0.1:8484"
_ID = re.compile(r"\b(ap|q|doubt|task|plan|decision|ws)_[0-9a-f]{8,}\b|\b\d{8}-\d{6}-[0-9a-f]{8}\b")
_IN_A_SHELL = re.compile(r"[|<>&;$]|^(?!folkmoot )")


def blocks(page: str) -> Iterator[Block]:
    for fence in filter(lambda token: token.type == "fence", read_page("", page).tokens):
        yield Block(fence.meta["mark"], fence.info, fence.content, (fence.map or [0])[0] + 1)


def play(page: str, instead: Mapping[str, str] | None = None, *, name: str = "") -> int:
    """Everything on the page, in the current folder, which may be another one afterwards; how much was done.

    `instead` says what stands here for something that the page shows, such as the address of a server.
    """
    if instead:  # all at once: what stands here may look like something else that the page shows
        page = re.sub("|".join(map(re.escape, instead)), lambda shown: instead[shown[0]], page)
    player = _Player(Path.cwd(), name)
    try:
        return sum(player.take(block) for block in blocks(page))
    finally:
        player.stop()


def enter(project: Path, home: Path) -> None:
    """A copy of it, in which no scripted model takes its time."""
    copy = home / project.name
    shutil.copytree(project, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".folkmoot"))
    for script in copy.glob("script.yaml"):
        script.write_text(re.sub(r"delay: \d+ms", "delay: 0ms", script.read_text()))
    os.chdir(copy)


class _Player:
    def __init__(self, home: Path, name: str) -> None:
        self._home = home
        self._name = name
        self._printed = ""
        self._code = 0
        self._server: subprocess.Popen[str] | None = None
        self._address = _SERVER
        self._ids: dict[str, str] = {}
        """The one that was printed for each that is shown, and by kind the latest."""
        self._jobs = Jobs()
        self._environment = dict(os.environ)
        self._acts = {
            ("run", "console"): self._run_commands,
            ("run", "sh"): self._run_lines,
            ("run", "python"): self._run_python,
            ("serve", "console"): self._serve,
        }

    def take(self, block: Block) -> int:
        word, _, rest = block.mark.partition(": ")
        if word == "not run" or word.startswith("played by "):
            self._excuse(block)
            return 0
        if word in ("file", "append"):
            self._write(self._home / rest, "a" if word == "append" else "w", block.text)
        elif word == "run in":
            enter(ROOT / rest, self._home)
            self._acts["run", block.language](block)
        elif act := self._acts.get((word, block.language)):
            act(block)
        else:
            compare(block, word, block.text, self._told(block))
        return 1

    def stop(self) -> None:
        self._stop_serving()
        self._jobs.end()
        os.environ.clear()
        os.environ.update(self._environment)

    def _stop_serving(self) -> None:
        if self._server:
            self._server.send_signal(signal.SIGINT)
            self._server.communicate(timeout=60)

    def _told(self, block: Block) -> str:
        """What a block shows that is no command and no file."""
        match block.mark.split():
            case ["output"]:
                return self._printed
            case ["served"] if self._server and self._server.stdout:
                return self._server.stdout.readline()
            case ["read", "by", agent]:
                return first_message(agent)
            case ["result", "of", tool]:
                return result(tool)
        raise Lie(f"line {block.line}: this block has no mark that says what becomes of it: {block.mark!r}")

    def _excuse(self, block: Block) -> None:
        """What is not run here must have a reason, and make sense; what another test plays must be played there."""
        if block.mark.startswith("played by "):
            if self._name not in (ROOT / block.mark.removeprefix("played by ")).read_text():
                raise Lie(f"line {block.line}: {block.mark}, but that says nothing of {self._name}")
        elif block.mark.removeprefix("not run: ") not in REASONS:
            raise Lie(
                f"line {block.line}: {block.mark!r} is none of the reasons: {', '.join(sorted(REASONS))}"
            )
        elif wrong := nonsense(block.language, block.text):
            raise Lie(f"line {block.line}: this is only shown, but {wrong}")

    def _write(self, path: Path, mode: str, text: str) -> None:
        """As it is shown, but for the port of the server, which is another each time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(text.replace(_SERVER, self._address))

    def _run_commands(self, block: Block) -> None:
        steps = _steps(block)
        for position, (command, shown) in enumerate(steps):
            self._code, printed = self._run(command, shown)
            compare(block, f"`{command}`", shown, printed)
            self._ids |= zip(ids(shown), ids(printed), strict=False)
            asked = [next_command for next_command, _ in steps[position + 1 : position + 2]] == ["echo $?"]
            if self._code and not asked:
                raise Lie(f"line {block.line}: `{command}` ended with {self._code}:\n{printed}")

    def _run_lines(self, block: Block) -> None:
        for line in (line.partition("  #")[0].strip() for line in block.text.splitlines()):
            self._code, printed = self._run(line)
            if self._code:
                raise Lie(f"line {block.line}: `{line}` ended with {self._code}:\n{printed}")

    def _run_python(self, block: Block) -> None:
        code = compile(block.text.replace(_SERVER, self._address), f"line {block.line}", "exec")
        _, self._printed = _captured(lambda: exec(code, {"__name__": "__main__"}))

    def _serve(self, block: Block) -> None:
        self._stop_serving()
        ((command, shown),) = _steps(block)
        words = ["bash", "-c", f"exec {command} --port 0"]
        self._server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._server.stdout
        said = "".join(self._server.stdout.readline() for _ in shown.splitlines())
        if port := re.search(r":(\d+)/", said):
            self._address = f"127.0.0.1:{port[1]}"
            said = said.replace(port[0], ":8484/")
        compare(block, f"`{command}`", shown, said)

    def _run(self, command: str, shown: str = "") -> tuple[int, str]:
        """As it is typed, but for ids and the port, which are others each time."""
        command = _ID.sub(lambda id: self._ids.get(id[0]) or self._ids.get(id[1] or "", id[0]), command)
        code, printed = self._done(command.replace(_SERVER, self._address), shown)
        self._ids |= {id[1] or "": id[0] for id in _ID.finditer(printed)}
        return code, printed.replace(self._address, _SERVER)

    def _done(self, command: str, shown: str) -> tuple[int, str]:
        if command == "echo $?":
            return 0, f"{self._code}\n"
        if command.endswith(" &"):
            last = shown.splitlines()[-1]
            return self._jobs.start(command, lambda line: fits(last, line))
        if self._kept(command):
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

    def _kept(self, command: str) -> bool:
        """Whether it was about the shell itself: where it is, what is set, what goes on behind it."""
        word, _, rest = command.partition(" ")
        if word == "cd":
            os.chdir(rest)
        elif word == "export":
            name, _, value = rest.partition("=")
            os.environ[name] = value
        else:
            return self._jobs.killed(command)
        return True


def ids(text: str) -> list[str]:
    return [id[0] for id in _ID.finditer(text)]


def _steps(block: Block) -> list[tuple[str, str]]:
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)


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
