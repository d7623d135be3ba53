"""The program on a journal in PostgreSQL, as its users meet it."""

import shutil
import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import FOREVER, SETTINGS, ended, wait_for
from tests.cli.till import SOURCE, TOOLS, paid
from tests.desk import made_mine


@pytest.fixture
def shared(folkmoot, storage):
    """A project whose journal lies on a server."""
    made_mine(folkmoot.folder)
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
    while postgres.query("SHOW full_page_writes") != [("on",)]:
        pass

    assert healthy["journal"]["text"].startswith("1 run in postgresql://")
    assert healthy["server"]["text"].startswith("PostgreSQL 1")
    assert healthy["schemas"]["text"] == "journal 3, no worker has been there yet"
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


def moved(shared) -> list[str]:
    """A project that ran on SQLite, was backed up, and is then set on the server: a run that waits, and one that ended."""
    script = {"a": [{"calls": [{"tool": "t.pay", "arguments": {"to": "ann"}}]}, {"report": "fine"}]}
    shared.write({"a": "tools: [t]"}, script, TOOLS)
    (shared.folder / "t.py").write_text(SOURCE)
    shared("trust", "--yes")
    (item,) = shared("run", "a.ai", "x", "--json").json["waiting"]
    shared("approvals", "approve", item, "--resume")
    shared("run", "a.ai", "y")
    assert shared("journal", "backup", "copy").code == 0
    runs = [row["runId"] for row in shared("runs", "list", "--json").json]
    shared.write({"a": "tools: [t]"}, script, TOOLS + shared.storage)
    return runs


def test_a_journal_moves_from_sqlite_to_the_server(shared):
    """Issue 4, import: times and hashes stay, it is verified after, and a run that waits goes on there."""
    runs = moved(shared)
    assert shared("runs", "list", "--json").json == []

    done = shared("journal", "import", "copy")
    again = shared("journal", "import", "copy", "--json")

    assert done.err.startswith("2 runs imported, ")
    assert (again.json["runs"], again.json["known"]) == (0, 2)
    assert [row["runId"] for row in shared("runs", "list", "--json").json] == runs
    verified = shared("verify", "--json")
    assert (verified.code, verified.json["holds"]) == (0, True)
    (item,) = [item["id"] for item in shared("inbox", "list", "--json").json]
    assert shared("journal", "adopt").code == 0
    assert shared("approvals", "approve", item, "--resume", "--json").json["status"] == "completed"
    assert paid(shared) == ["ann", "ann"]
    assert shared("verify").code == 0


def test_a_bundle_goes_from_the_server_into_a_folder_and_back(shared, postgres, storage):
    """Issue 4, one file to share: the same to the last hash, with what it names."""
    runs = moved(shared)
    shared("journal", "import", "copy")

    assert shared("log", "export", "--bundle", "all.zip").err.startswith("all.zip: 2 runs, ")
    assert shared("verify", "all.zip").code == 0
    (shared.folder / "laptop").mkdir()
    assert shared("--project", "laptop", "journal", "import", "all.zip").err.startswith("2 runs imported, ")
    assert shared("--project", "laptop", "verify").code == 0
    postgres.query(f'DROP SCHEMA "{storage.schema}" CASCADE')
    assert shared("journal", "import", "all.zip", "--json").json["runs"] == 2
    assert {row["runId"] for row in shared("runs", "list", "--json").json} == set(runs)


def test_old_runs_on_the_server_are_pruned_and_nothing_else(shared, postgres, storage):
    """Issue 4, keeping house: what no entry names goes with them, unless it was kept within a day."""
    waits, ended = moved(shared)
    shared("journal", "import", "copy")
    postgres.query(f'UPDATE "{storage.schema}".artifact SET kept = kept - 100000')

    listed = shared("runs", "prune", "--older-than", "0s", "--dry-run")
    done = shared("runs", "prune", "--older-than", "0s", "--json")

    assert listed.out.split() == done.json["runs"] == [ended]
    assert done.json["pruned"]["entries"] > 4
    statuses = {row["runId"]: row["status"] for row in shared("runs", "list", "--json").json}
    assert statuses == {waits: "waiting", ended: "pruned"}
    assert "hash chain intact" in shared("runs", "show", ended).out
    assert "1 pruned" in shared("verify").out
    known = shared("journal", "import", "copy", "--json").json
    assert (known["runs"], known["known"]) == (0, 2)


def test_a_damaged_row_on_the_server_is_found_with_its_place(shared, postgres, storage):
    """C2."""
    run = moved(shared)[1]
    shared("journal", "import", "copy")
    postgres.query(f'DELETE FROM "{storage.schema}".entry WHERE stream = %s AND run_seq = 3', run.encode())

    done = shared("verify")

    assert done.code == 1
    assert f"C2 {run}, event 4" in done.out
    assert "entries are missing" in done.out


def test_a_backup_of_the_server_names_what_does_it_instead(shared, storage):
    moved(shared)

    done = shared("journal", "backup", "copy-2")

    assert done.code == 2
    assert f"pg_dump --schema='\"{storage.schema}\"'" in done.err
    assert "log export --bundle" in done.err
    assert not (shared.folder / "copy-2").exists()


@pytest.mark.parametrize(
    "command", [("projections",), ("tasks", "add", "--agent", "a", "more"), ("serve", "--port", "0")]
)
def test_files_that_follow_from_the_records_are_written_though_nothing_else_is_kept_here(shared, command):
    """K-46: the folder is made as a journal here would make it, for its user alone and ignored by git."""
    shared.write({"a": "description: a"}, {"a": [{"report": "fine"}]}, SETTINGS + shared.storage)
    assert shared("tasks", "add", "--agent", "a", "Look around").code == 0
    folder = shared.folder / ".folkmoot"
    shutil.rmtree(folder)

    process = shared.started(*command)
    if command[0] == "serve":
        wait_for(process.stderr, "Ctrl-C ends it")
        process.send_signal(signal.SIGINT)
    done = ended(process)

    assert done.code == 0, done.err
    assert "behind" not in done.err
    assert [*folder.glob("tasks/a/*.md")]
    assert (folder.stat().st_mode & 0o777, (folder / ".gitignore").read_text()) == (0o700, "*\n")
    assert not (folder / "folkmoot.db").exists()


def test_a_sink_that_writes_into_the_folder_makes_it_for_its_user_alone(shared):
    """K-46: what is kept of runs is nobody else's business, whoever writes it first."""
    shared.write(
        {"a": "handoff: b.ai", "b": "description: b"},
        {"a": [{"report": "fine"}], "b": [{"report": "fine"}]},
        SETTINGS + shared.storage + "sinks: {f: {kind: ndjson}}\n",
    )
    shared("run", "a.ai", "x")

    assert shared("sinks", "run", "--once").code == 0
    folder = shared.folder / ".folkmoot"
    assert (folder.stat().st_mode & 0o777, (folder / ".gitignore").read_text()) == (0o700, "*\n")
    assert (folder / "coordination-events.ndjson").is_file()
