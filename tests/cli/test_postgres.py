"""The program on a journal in PostgreSQL, as its users meet it."""

import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import FOREVER, SETTINGS, ended, wait_for
from tests.cli.test_inbox import SOURCE, TOOLS, paid


@pytest.fixture
def shared(folkmoot, storage):
    """A project whose journal lies on a server."""
    folkmoot.storage = f"storage: {{url: '{storage.url}', project: {storage.project}}}\n"
    return folkmoot


def test_a_run_is_recorded_shown_listed_and_exported(shared):
    """C1: everything is on the server, nothing in the folder."""
    shared.write({"a": "description: a"}, {"a": [{"report": "fine"}]}, SETTINGS + shared.storage)
    nothing = [shared("runs", "list"), shared("inbox", "list"), shared("sessions", "list")]

    done = shared("run", "a.ai", "x", "--json")

    run = done.json["runId"]
    assert [before.code for before in nothing] == [0, 0, 0]
    assert [row["runId"] for row in shared("runs", "list", "--json").json] == [run]
    assert shared("runs", "show", "last").code == 0
    assert [session["status"] for session in shared("sessions", "list", "--json").json] == ["completed"]
    assert shared("log", "export", run).out.count("\n") == shared("log", "export").out.count("\n") > 4
    assert not (shared.folder / ".folkmoot").exists()


def test_a_run_that_waits_is_answered_and_goes_on(shared):
    """O-22."""
    script = {"a": [{"calls": [{"tool": "t.pay", "arguments": {"to": "ann"}}]}, {"report": "fine"}]}
    shared.write({"a": "tools: [t]"}, script, TOOLS + shared.storage)
    (shared.folder / "t.py").write_text(SOURCE)
    shared("trust", "--yes")
    (item,) = shared("run", "a.ai", "x", "--json").json["waiting"]

    done = shared("approvals", "approve", item, "--resume", "--json")

    assert done.json["finalReport"]["content"] == "fine"
    assert paid(shared) == ["ann"]


def test_a_run_whose_process_was_killed_is_resumed(shared):
    """C1: from the server alone."""
    shared.write({"a": "description: a"}, {"a": [FOREVER]}, SETTINGS + shared.storage)
    process = shared.started("run", "a.ai", "x")
    wait_for(process.stderr, "a starts")
    process.send_signal(signal.SIGKILL)
    ended(process)
    shared.write({"a": "description: a"}, {"a": [{"report": "fine"}]}, SETTINGS + shared.storage)

    interrupted = shared("runs", "list", "--json").json[0]["status"]
    done = shared("runs", "resume", "last", "--json")

    assert interrupted == "interrupted"
    assert done.json["finalReport"]["content"] == "fine"


def test_a_run_of_another_process_is_cancelled(shared):
    shared.write({"a": "description: a"}, {"a": [FOREVER]}, SETTINGS + shared.storage)
    process = shared.started("run", "a.ai", "x", "--json")
    wait_for(process.stderr, "a starts")

    assert shared("runs", "cancel", "last").code == 0
    assert '"cancelled"' in ended(process).out


def test_the_doctor_looks_at_the_server(shared, postgres):
    shared.write({"a": "description: a"}, {"a": [{"report": "fine"}]}, SETTINGS + shared.storage)
    shared("run", "a.ai", "x")

    healthy = {found["id"]: found for found in shared("doctor", "--json").json}
    postgres.query("ALTER SYSTEM SET full_page_writes TO off")
    postgres.query("SELECT pg_reload_conf()")
    while postgres.query("SHOW full_page_writes") != [("off",)]:
        pass
    (weak,) = [found for found in shared("doctor", "--json").json if found["id"] == "durability"]
    postgres.query("ALTER SYSTEM RESET full_page_writes")
    postgres.query("SELECT pg_reload_conf()")

    assert healthy["journal"]["text"].startswith("1 run in postgresql://")
    assert healthy["server"]["text"].startswith("PostgreSQL 1")
    assert healthy["schemas"]["text"] == "journal 1, no worker has been there yet"
    assert {found["status"] for found in healthy.values()} <= {"ok", "warning"}
    assert healthy["clocks"]["status"] == healthy["durability"]["status"] == "ok"
    assert (weak["status"], weak["text"]) == (
        "warning",
        "full_page_writes of the server is off: a power cut can lose what was acknowledged",
    )


def test_a_server_that_is_not_there_is_one_line_without_the_password(folkmoot, tmp_path, monkeypatch):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    monkeypatch.setenv("FOLKMOOT_STORAGE_URL", f"postgresql://me:hunter2@/db?host={tmp_path}")
    monkeypatch.setenv("FOLKMOOT_STORAGE_PROJECT", "desk")

    failed = [folkmoot("run", "a.ai", "x"), folkmoot("runs", "list"), folkmoot("doctor")]

    assert [done.code for done in failed] == [1, 1, 1]
    assert all("postgresql://me:***@/db" in done.out + done.err for done in failed)
    assert not any("hunter2" in done.out + done.err or "Traceback" in done.err for done in failed)


def test_without_the_extra_the_remedy_is_named(shared, monkeypatch):
    shared.write({"a": "description: a"}, {"a": [{"report": "fine"}]}, SETTINGS + shared.storage)
    for name in [name for name in sys.modules if name.startswith("folkmoot.journal.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    done = shared("run", "a.ai", "x")

    assert done.code == 1
    assert "pip install 'folkmoot[postgres]'" in done.err


def test_who_does_not_use_it_does_not_load_it(folkmoot):
    """Nor the YAML of a project whose past is only read."""
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    program = "import sys; from folkmoot.cli.main import main; main(sys.argv[1:]); print({*sys.modules} & {'psycopg', 'yaml'})"

    def loaded(*arguments):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
        return done.stdout.splitlines()[-1]

    assert loaded("run", "a.ai", "x") == "{'yaml'}"
    assert loaded("runs", "list") == "set()"
