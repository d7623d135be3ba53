"""The program by its front door: called in this process, in a folder of its own, with the clock and the name as told."""

import gzip
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent.parent / "0.1.0"
NAMES = RECORD / "names.json"
_PATIENCE = 60
"""Seconds for one command, on a busy machine."""
_LEFT_OUT = ("NO_COLOR", "FORCE_COLOR", "TERM", "RECORD_KILL")


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def names() -> dict[str, str]:
    """The ids of the record by what they are called in the cases, such as `run.waiting`."""
    known: dict[str, str] = json.loads(NAMES.read_text())
    return known


def restore(folder: Path) -> Path:
    """The project of the record with its journal, in a folder that does not exist yet.

    Its artifacts count as stored just now, as they were when the answers were recorded: a day later they may be swept.
    """
    shutil.copytree(RECORD / "project", folder)
    (folder / ".folkmoot").mkdir()
    journal = folder / ".folkmoot" / "folkmoot.db"
    journal.write_bytes(gzip.decompress((RECORD / "folkmoot.db.gz").read_bytes()))
    with closing(sqlite3.connect(journal)) as connection, connection:
        connection.execute("UPDATE artifact SET kept = strftime('%s', 'now')")
    return folder


def call(folder: Path, *arguments: str) -> Done:
    """In this process, without a terminal; the user's settings lie beside the folder, and hold for all calls there."""
    (program,) = entry_points(group="console_scripts", name="folkmoot")
    main = program.load()
    with _in(folder), _streams() as (out, err), _interrupted_after(_PATIENCE):
        try:
            code = main(list(arguments))
        except SystemExit as left:  # as typer leaves, where the program does not catch it
            code = left.code if isinstance(left.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(code, out.getvalue().decode(), err.getvalue().decode())


def around(folder: Path) -> dict[str, str]:
    """What the program finds in its environment beside everything else: settings and a name of nobody on this machine."""
    settings = str(folder.parent / "settings of this user")
    return {"XDG_CONFIG_HOME": settings, "COLUMNS": "200", "LOGNAME": "somebody", "USER": "somebody"}


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before, environment = Path.cwd(), dict(os.environ)
    for name in _LEFT_OUT:
        os.environ.pop(name, None)
    os.environ |= around(folder)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ |= environment


@contextmanager
def _interrupted_after(seconds: int) -> Iterator[None]:
    """As by Ctrl-C: a command that never ends shows as what it then says, not as a test that hangs."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _streams() -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.stdout, sys.stderr = io.TextIOWrapper(out, "utf-8"), io.TextIOWrapper(err, "utf-8")
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def made(done: Done, code: int = 0) -> Any:
    """The JSON of a call that must have gone well."""
    assert done.code == code, f"{done.code} instead of {code}: {done.err or done.out}"
    return done.json
