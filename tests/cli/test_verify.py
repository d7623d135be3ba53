import sqlite3

import pytest

FILES = {"a": "advisors: [b.ai]", "b": ""}


@pytest.fixture
def ran(folkmoot):
    folkmoot.write(FILES, {"a": [{"report": "fine"}], "b": [{"report": "advice"}]})
    for _ in range(2):
        assert folkmoot("run", "a.ai", "x", "-q").out == "fine\n"
    return folkmoot


def damage(folkmoot):
    with sqlite3.connect(folkmoot.folder / ".folkmoot" / "folkmoot.db") as database:
        database.execute("DELETE FROM entry WHERE seq = 3")
    database.close()


def test_a_sound_journal_is_told_guarantee_by_guarantee(ran):
    """C1 to C7: what was checked, with counts."""
    done = ran("verify")

    assert done.code == 0
    lines = done.out.splitlines()
    assert [line[:2] for line in lines[:7]] == ["C1", "C2", "C3", "C4", "C5", "C6", "C7"]
    assert lines[1] == "C2 order      2 streams, 24 entries, dense and chained"
    assert lines[-1] == "every guarantee holds"
    assert "1 stream, 12 entries" in ran("verify", "last").out


def test_a_damaged_journal_is_told_with_the_place_and_ends_with_1(ran):
    """C2: run, position and event, in words."""
    damage(ran)

    done = ran("verify")
    said = ran("verify", "--json").json

    assert (done.code, ran("verify", "--json").code) == (1, 1)
    assert "event 4 (" in done.out
    assert "it follows on 2: entries are missing or doubled" in done.out
    assert done.out.splitlines()[-1] == "not every guarantee holds"
    fault = said["faults"][0]
    assert (fault["guarantee"], fault["runSeq"], fault["seq"], len(fault["id"])) == ("C2", 4, 4, 64)
    assert said["holds"] is False
    assert said["checked"]["C2"]["faults"] == 1


def test_exported_logs_bundles_and_backups_are_checked_too(ran, tmp_path):
    """Issue 4: another machine can verify and show what it was given."""
    ran("log", "export", "-o", "log")
    ran("log", "export", "last", "--bundle", "bundle.zip")
    ran("journal", "backup", "copy")

    for file, entries in ("log", 24), ("bundle.zip", 12), ("copy", 24):
        done = ran("verify", file, "--json")
        assert (done.code, done.json["entries"]) == (0, entries), file
    assert ran("verify", "nothing.zip").code == 2
    assert ran("verify", "folkmoot.yaml").code == 2


def test_a_bundle_can_be_shown_where_its_project_is_not(ran, tmp_path):
    """Issue 4, one file to share."""
    said = ran("log", "export", "last", "--bundle", "bundle.zip").err
    here = ran("runs", "show", "last", "--json").json
    (tmp_path / "elsewhere").mkdir()

    there = ran("--project", "elsewhere", "runs", "show", "last", "--bundle", "bundle.zip", "--json").json

    assert "1 run, 2 artifacts;" in said
    assert there == here | {"heldBy": None}
    assert ran("log", "export", "--bundle", "b", "-o", "c").code == 2
    assert ran("runs", "show", "last", "--bundle", "folkmoot.yaml").code == 1
