"""The program as its users meet it: called in this process where that is enough, as a process where it matters."""

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from folkmoot.cli.main import main
from tests.desk import made_mine
from tests.examples import copied

SETTINGS = "providers: {s: {kind: scripted, script: script.yaml, price: {input: 1, output: 2}, contextWindow: 32000}}\nmodels: {default: s/demo}\n"
PROGRAM = [sys.executable, "-c", "import sys; from folkmoot.cli.main import main; sys.exit(main())"]
FOREVER = {"report": "never said", "barrier": "nobody comes/2"}
"""An answer that waits until somebody stops it."""


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """What `--json` printed: one document, and nothing else."""
        return json.loads(self.out)


class Program:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._patch = patch

    def write(
        self,
        agents: dict[str, str],
        script: dict[str, object],
        settings: str = SETTINGS,
        *,
        mine: bool = True,
    ) -> None:
        """`agents` holds frontmatter by id. Nothing is asked in a folder that is `mine`."""
        if mine:
            made_mine(self.folder)
        (self.folder / "folkmoot.yaml").write_text(settings)
        (self.folder / "script.yaml").write_text(yaml.safe_dump({"agents": script}))
        for name, frontmatter in agents.items():
            (self.folder / f"{name}.ai").write_text(f"---\n{frontmatter}\n---\nYou are {name}.\n")

    def edit(self, file: str, old: str, new: str) -> None:
        """`old` is a regular expression, and stands there."""
        text, changed = re.subn(old, new, (self.folder / file).read_text())
        assert changed, old
        (self.folder / file).write_text(text)

    def write_with_tool(self, name: str, source: str, *, trusted: bool = True) -> None:
        """An agent `a` that calls the Python function `name` once, then reports."""
        script = {"a": [{"calls": [{"tool": f"t.{name}"}]}, {"report": "fine"}]}
        tools = "tools: {t: {kind: python, module: t.py}}\n"
        self.write({"a": "tools: [t]"}, script, SETTINGS + tools, mine=trusted)
        (self.folder / "t.py").write_text(f"from folkmoot import tool\n\n{source}")

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Done:
        """In this process: quick, and without a terminal."""
        if stdin is not None:
            self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = main(arguments)
        return Done(code, *self._capsys.readouterr())

    def started(
        self, *arguments: str, stdout: int = subprocess.PIPE, under: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """As a process of its own, with pipes; `under` is the program that starts it."""
        return subprocess.Popen(
            [*under, *PROGRAM, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def on_a_terminal(
        self, *arguments: str, typed: bytes = b"", when: Sequence[tuple[str, bytes]] = (), **env: str
    ) -> tuple[int, str]:
        """As a process whose stdin, stdout and stderr are one terminal; what it wrote there, raw.

        `when` are pairs of words and what is typed once they stand there.
        """

        may_begin, begin = os.pipe()
        pid, terminal = pty.fork()
        if pid == 0:
            os.read(may_begin, 1)
            os.chdir(self.folder)
            del os.environ["COLUMNS"]
            os.execvpe(PROGRAM[0], [*PROGRAM, *arguments], {**os.environ, "TERM": "xterm-256color", **env})
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.write(terminal, typed)
        os.write(begin, b"!")  # the terminal is as it shall be before anybody looks at it
        os.close(may_begin)
        os.close(begin)
        written, coming = b"", list(when)
        for part in _read_until_closed(terminal):
            written += part
            if coming and coming[0][0].encode() in written.rpartition(b"\0")[2]:
                os.write(terminal, coming.pop(0)[1])
                written += b"\0"  # the next words are looked for behind this
        written = written.replace(b"\0", b"")
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), written.decode()


def _read_until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is gone
            return
        if not part:
            return
        yield part


@contextmanager
def unread() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def wait_for(stream: io.TextIOBase, words: str) -> str:
    """All lines up to the first that holds `words`."""
    lines = []
    for line in stream:
        lines.append(line)
        if words in line:
            return "".join(lines)
    raise AssertionError(f"{words!r} never came: {''.join(lines)}")


def soon(happened: Callable[[], object], seconds: float = 60.0) -> None:
    """Return when it has happened, in another process that tells nobody."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):  # not made yet, or being put aside
            if happened():
                return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def ended(process: subprocess.Popen[str], seconds: float = 60.0) -> Done:
    out, err = process.communicate(timeout=seconds)
    return Done(process.returncode, out, err)


def interrupted(process: subprocess.Popen[str], number: int = signal.SIGINT) -> Done:
    process.send_signal(number)
    return ended(process)


@pytest.fixture
def folkmoot(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return Program(tmp_path, capsys, monkeypatch)


@pytest.fixture
def shop(folkmoot):
    """The example of five agents."""
    copied("collaboration", folkmoot.folder)
    return folkmoot
