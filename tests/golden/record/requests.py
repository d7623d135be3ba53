"""Every HTTP operation asked of a real `folkmoot serve`, in one project, in the order of the table."""

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from tests.golden.record.plain import Plain
from tests.golden.record.program import around, call, made, names, restore
from tests.golden.record.table import TRUST, Row, fill

PROGRAM = "import sys; from importlib.metadata import entry_points as e; (p,) = e(group='console_scripts', name='folkmoot'); sys.exit(p.load()())"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_PATIENCE = 120
"""Seconds for an answer, on a busy machine."""


class Server:
    """A project of the record behind `folkmoot serve`."""

    def __init__(self, desk: Path, port: int, known: dict[str, str]) -> None:
        self._port = port
        self._known = known
        self._plain = Plain(known, {"folder": str(desk)})

    def answered(self, row: Row) -> Row:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        try:
            body = fill(row["body"], self._known).encode() if "body" in row else None
            headers = {"Content-Type": row.get("type", "application/json")} if body is not None else {}
            connection.request(row["method"], fill(row["path"], self._known), body, headers)
            response = connection.getresponse()
            kind = response.headers.get_content_type()
            stream = kind == "text/event-stream"
            text = "" if stream else response.read().decode(errors="replace")
        finally:
            connection.close()
        told = self._plain.written(text)
        if response.status == HTTPStatus.ACCEPTED:  # it goes on meanwhile, and may be anywhere
            told |= {key: "<anything>" for key in ("status", "state") if key in told}
        return {"status": response.status, "kind": kind, "json": told}


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """What the server would do by itself is done before: no run is left interrupted, no event unsent."""
    desk = restore(folder / "desk")
    known = names()
    assert call(desk, *TRUST).code == 0
    call(desk, "journal", "adopt")  # as after an upgrade; 0.1.0 knows no such command
    made(call(desk, "runs", "resume", known["run.interrupted"], "--json"))
    _prepare(desk, known)
    assert call(desk, "sinks", "run", "--once").code == 0
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0"],
        cwd=desk, env={**os.environ, **around(desk)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    try:
        said = ""
        while not (found := _ADDRESS.search(said)):
            line = process.stderr.readline()
            assert line, f"it ended: {said}"
            said += line
        yield Server(desk, int(found[1]), known)
    finally:
        process.terminate()
        process.communicate(timeout=_PATIENCE)


def _prepare(desk: Path, known: dict[str, str]) -> None:
    """A few further things, for what one request spends and the next would need."""
    known["run.spare"] = made(call(desk, "run", "payer", "hello", "--json"), 6)["runId"]
    new = "decisions propose New? --option a --option b --voter carl --window 1h".split()
    known["decision.new"] = made(call(desk, *new, "--json"))["id"]
    for agent in ("law", "editor"):
        known[f"task.{agent}"] = made(call(desk, "tasks", "add", "Later", "--agent", agent, "--json"))["id"]
    known["work.reviewed"] = made(call(desk, "work", "open", "Review", "--json"))["id"]
    for way in (("team", "lead"), ("state", "Planning"), ("state", "Executing"), ("state", "Reviewing")):
        made(call(desk, "work", way[0], known["work.reviewed"], *way[1:], "--json"))
    artifacts = made(call(desk, "work", "show", known["work.executing"], "--json"))["artifacts"]
    known["artifact"] = artifacts[0]["artifact"]
