"""Every HTTP operation asked of a real `folkmoot serve`, in one project, in the order of `requests.txt`."""

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.golden.record.plain import Plain
from tests.golden.record.program import RECORD, around, call, made, names, restore
from tests.golden.record.table import REQUESTS, TRUST, Row, fill, write_rows

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

    def document(self) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        connection.request("GET", "/api/openapi.json")
        document = json.loads(connection.getresponse().read())
        connection.close()
        return document


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
    new = (
        "decisions",
        "propose",
        "New?",
        "--option",
        "a",
        "--option",
        "b",
        "--voter",
        "carl",
        "--window",
        "1h",
    )
    known["decision.new"] = made(call(desk, *new, "--json"))["id"]
    for agent in ("law", "editor"):
        known[f"task.{agent}"] = made(call(desk, "tasks", "add", "Later", "--agent", agent, "--json"))["id"]
    known["work.reviewed"] = made(call(desk, "work", "open", "Review", "--json"))["id"]
    for way in (("team", "lead"), ("state", "Planning"), ("state", "Executing"), ("state", "Reviewing")):
        made(call(desk, "work", way[0], known["work.reviewed"], *way[1:], "--json"))
    artifacts = made(call(desk, "work", "show", known["work.executing"], "--json"))["artifacts"]
    known["artifact"] = artifacts[0]["artifact"]


def read_cases(document: Any) -> list[Row]:
    """Looks and refusals first: they change nothing."""
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    told = []
    for line in Path(__file__).with_name("requests.txt").read_text().splitlines():
        if not line.startswith("#"):
            what, request, *body = line.split(" | ")
            method, path = request.split(" ")
            of = next(one for one in operations if one[0] == method and _fits(one[1], path))
            told.append({"name": f"{method} {of[1]}: {what}", "method": method, "path": path, **_body(body)})
    added = [row for of, one in operations.items() for row in _refused(of, one, told)]
    looks = [row for row in told if row["method"] == "GET"]
    return [*looks, *added, *(row for row in told if row["method"] != "GET")]


def _body(body: list[str]) -> Row:
    return {"body": body[0]} if body else {}


def _fits(template: str, path: str) -> bool:
    """`/tasks/backlog` fits `/tasks/{id}` too, but comes first in the document."""
    return bool(re.fullmatch(re.sub(r"\{\w+\}", "[^/?]+", template), path.partition("?")[0]))


def _refused(of: tuple[str, str], operation: Any, told: list[Row]) -> Iterator[Row]:
    method, template = of
    good = next(row for row in told if row["name"].startswith(f"{method} {template}: "))

    def row(what: str, path: str = good["path"], **more: str) -> Row:
        return {"name": f"{method} {template}: {what}", "method": method, "path": path, **more}

    body = {"body": good["body"]} if "body" in good else {}
    if "{" in template:
        nothing = re.sub(r"\{step\}", "s1", template)
        yield row("no such id", re.sub(r"\{\w+\}", "nothing", nothing), **body)
    if method == "GET":
        yield row("an unknown parameter", f"{good['path'].partition('?')[0]}?nothing=1")
        yield {**row("another method", template), "method": "DELETE"}
    if "requestBody" in operation:
        yield row("no JSON", body="{")
        yield row("a list", body="[]")
        yield row("another kind of body", body=good["body"], type="text/plain")
        yield row("an unknown field", body=json.dumps({**json.loads(good["body"]), "nothing": 1}))
        schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
        if good["body"] != "{}" and schema:
            yield row("wrong types", body=json.dumps({key: {"a": 1.5} for key in json.loads(good["body"])}))


def write_requests() -> None:
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        document = server.document()
        cases = read_cases(document)
        rows = [{**case, **server.answered(case)} for case in cases]
    assert len({row["name"] for row in rows}) == len(rows), "each has a name of its own"
    write_rows(REQUESTS, rows)
    found = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]
    (RECORD / "operations.json").write_text(json.dumps(found, indent=0) + "\n")
