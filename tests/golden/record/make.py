"""Makes the record of a version; it was made once, with 0.1.0, and is never made again.

In a clone of that version with its `.venv`, but with this folder's `tests`:

    cd HERE && CLONE/.venv/bin/python -m tests.golden.record.make journals commands requests

`journals` plays the story of `story.py` in /srv/record, once with SQLite and once with PostgreSQL; `commands` and
`requests` then write what every command and every HTTP operation answers to the cases of the two text files beside.

The clock stands at 2026-01-05 when the story begins, and this machine is called `record`: nothing that depends on age
comes out otherwise tomorrow, and nothing says where it was made.
"""

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from folkmoot import __version__
from tests.golden.record import past
from tests.golden.record.program import NAMES, RECORD, Done, around, call
from tests.golden.record.requests import write_requests
from tests.golden.record.story import play
from tests.golden.record.table import write_commands
from tests.postgres_server import PostgresServer, running_server

FOLDER = Path("/srv/record/desk")
POSTGRES = "storage: {{url: '{url}', project: record}}\n"


def journals() -> None:
    past.begin()
    _prepare()
    names = play(_call, _killed)
    NAMES.write_text(json.dumps(names, indent=1) + "\n")
    _settle(FOLDER / ".folkmoot" / "folkmoot.db")
    _bundles(names)
    with running_server() as server:
        _prepare(POSTGRES.format(url=server.url))
        (RECORD / "postgres.names.json").write_text(json.dumps(play(_call, _killed), indent=1) + "\n")
        queued = _call("run", "desk", "later", "--queue")
        assert queued.code == 0, queued.err
        server.query("UPDATE folkmoot_record.stream SET until = 0")
        (RECORD / "postgres.sql.gz").write_bytes(_zipped(_dumped(server)))


def _prepare(more: str = "") -> None:
    shutil.rmtree(FOLDER.parent, ignore_errors=True)
    shutil.copytree(RECORD / "project", FOLDER)
    with (FOLDER / "folkmoot.yaml").open("a") as settings:
        settings.write(more)
    assert _call("trust", "--yes").code == 0


def _call(*arguments: str) -> Done:
    return call(FOLDER, *arguments)


def _killed(tool: str, *arguments: str) -> None:
    """The program in a process that dies when this tool is called."""
    code = (
        "import sys; from tests.golden.record import past, program; from pathlib import Path; past.go_on();"
    )
    code += (
        " from folkmoot.cli.main import main; import os; os.chdir(sys.argv[1]); sys.exit(main(sys.argv[2:]))"
    )
    environment = {**os.environ, **around(FOLDER), "RECORD_KILL": tool}
    command = [sys.executable, "-c", code, str(FOLDER), *arguments]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == -9, (ended.returncode, ended.stderr)


def _settle(file: Path) -> None:
    """One file, without leases: they count by the clock since the start of one machine, which means nothing elsewhere."""
    with sqlite3.connect(file) as database:
        database.execute("UPDATE stream SET until = 0")
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    (RECORD / "folkmoot.db.gz").write_bytes(_zipped(file.read_bytes()))


def _bundles(names: dict[str, str]) -> None:
    shutil.rmtree(RECORD / "bundles", ignore_errors=True)
    (RECORD / "bundles").mkdir()
    for name in ("completed", "waiting", "interrupted", "forked", "team"):
        done = _call(
            "log", "export", names[f"run.{name}"], "--bundle", str(RECORD / "bundles" / f"{name}.zip")
        )
        assert done.code == 0, done.err
    done = _call("log", "export", "--bundle", str(RECORD / "bundles" / "all.zip"))
    assert done.code == 0, done.err


def _dumped(server: PostgresServer) -> bytes:
    """As statements that any client can send: no COPY, no commands of psql."""
    dump = ["pg_dump", "--no-owner", "--no-privileges", "--inserts", "--schema=*_record", server.url]
    text = subprocess.run([server.program(dump[0]), *dump[1:]], check=True, capture_output=True).stdout
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith((b"\\", b"--")))


def _zipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


WAYS: dict[str, Callable[[], None]] = {
    "journals": journals,
    "commands": write_commands,
    "requests": write_requests,
}

if __name__ == "__main__":
    assert __version__ == "0.1.0", "the record is what 0.1.0 wrote"
    for way in sys.argv[1:]:
        WAYS[way]()
