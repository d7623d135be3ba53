import sqlite3
from contextlib import closing

import pytest


@pytest.fixture
def ran(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    for _ in range(2):
        assert folkmoot("run", "a.ai", "x", "-q").out == "fine\n"
    return folkmoot


def test_old_runs_are_listed_then_pruned_and_say_so(ran):
    """Issue 4, keeping house."""
    runs = {row["runId"] for row in ran("runs", "list", "--json").json}
    assert ran("runs", "prune", "--older-than", "1d", "--json").json["runs"] == []

    listed = ran("runs", "prune", "--older-than", "0s", "--dry-run")
    assert set(listed.out.split()) == runs
    assert "2 runs would go; nothing was removed" in listed.err
    assert {row["status"] for row in ran("runs", "list", "--json").json} == {"completed"}

    done = ran("runs", "prune", "--older-than", "0s")
    assert "2 runs pruned: 12 entries and 0 artifacts" in done.err
    assert {(row["runId"], row["status"]) for row in ran("runs", "list", "--json").json} == {
        (run, "pruned") for run in runs
    }
    shown = ran("runs", "show", "last")
    assert shown.code == 0
    assert "pruned" in shown.out
    assert "hash chain intact" in shown.out
    assert ran("verify").code == 0
    assert "2 pruned" in ran("verify").out
    assert ran("runs", "resume", "last", "--json").json["status"] == "pruned"
    assert ran("runs", "show", "last", "--json").json["opTree"] is None
    assert ran("sessions", "list", "last", "--json").json == []
    assert "its sessions are gone" in ran("sessions", "list", "last").err
    assert ran("inbox", "list", "--json").json == []


def test_a_journal_is_backed_up_and_imported_elsewhere(ran, tmp_path):
    """Issue 4: online, one file, checked; imported, and known when it comes again."""
    assert "12 entries" in ran("journal", "backup", "copy").err
    (tmp_path / "new").mkdir()

    done = ran("--project", "new", "journal", "import", "copy")

    assert done.err == "2 runs imported, 12 entries; 0 runs known before\n"
    assert ran("--project", "new", "journal", "import", "copy", "--json").json == {
        "runs": 0,
        "entries": 0,
        "known": 2,
    }
    assert ran("--project", "new", "runs", "list", "--json").json == ran("runs", "list", "--json").json
    assert ran("--project", "new", "verify").code == 0


def test_what_holds_no_artifacts_or_does_not_hold_is_not_imported(ran, tmp_path):
    (tmp_path / "new").mkdir()
    ran("log", "export", "-o", "log")
    assert "holds no artifacts" in ran("--project", "new", "journal", "import", "log").err

    ran("journal", "backup", "copy")
    with sqlite3.connect(tmp_path / "copy") as database:
        database.execute("DELETE FROM entry WHERE seq = 3")
    database.close()
    done = ran("--project", "new", "journal", "import", "copy")
    assert done.code == 1
    assert "nothing was imported" in done.err


def test_a_backup_of_a_damaged_journal_is_made_and_says_so(ran, tmp_path):
    """The copy is all there is to save."""
    with sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db") as database:
        database.execute("DELETE FROM entry WHERE seq = 3")
    database.close()

    done = ran("journal", "backup", "copy", "--json")

    assert done.code == 1
    assert done.json["holds"] is False
    assert (tmp_path / "copy").exists()
    assert "entries are missing" in ran("journal", "backup", "copy").out


def test_on_a_terminal_long_work_says_how_far_it_is(ran):
    code, shown = ran.on_a_terminal("verify")

    assert code == 0
    assert "checking" in shown
    assert "every guarantee holds" in shown


@pytest.mark.parametrize(
    "command", [["replay", "last"], ["diff", "last", "last"], ["fork", "last", "--at", "1"]]
)
def test_what_needs_the_whole_of_a_pruned_run_says_that_it_is_gone(ran, command):
    ran("runs", "prune", "--older-than", "0s")

    done = ran("runs", *command)

    assert done.code == 2
    assert "was pruned: what happened in it is gone" in done.err


def test_the_tables_behind_the_lists_are_made_anew_and_compared(folkmoot):
    folkmoot.write({"a": ""}, {"a": [{"report": "fine"}]})
    folkmoot("run", "a.ai", "x", "-q")
    before = folkmoot("runs", "list", "--json").json

    with closing(sqlite3.connect(folkmoot.folder / ".folkmoot" / "folkmoot.db")) as connection:
        connection.execute("UPDATE runs SET status = 'failed'")
        connection.commit()
    differs = folkmoot("journal", "rebuild", "--check", "--json")
    rebuilt = folkmoot("journal", "rebuild")

    assert (differs.code, differs.json) == (1, {"runs": 1, "differing": [before[0]["runId"]]})
    assert rebuilt.code == 0
    assert folkmoot("journal", "rebuild", "--check").code == 0
    assert folkmoot("runs", "list", "--json").json == before
