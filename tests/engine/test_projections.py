"""Files that say what the journal says; see O-10."""

import pytest

from folkmoot.engine.outlets import FileDifference, find_file_differences, update_files

WANTED = {"tasks/coder/task_1.md": "# Task\n", "team-state.json": "{}\n"}


def test_what_is_missing_old_or_without_a_record_is_brought_up_and_the_rest_left_alone(tmp_path):
    """O-10: re-creatable with one command; editing one by hand changes nothing."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "task_9.md").write_text("of a task that is no more")
    (tmp_path / "notes.md").write_text("mine")

    first = update_files(tmp_path, WANTED)
    (tmp_path / "team-state.json").write_text("edited")
    second = update_files(tmp_path, WANTED)

    assert first == FileDifference((*WANTED,), ("tasks/task_9.md",))
    assert second == FileDifference(("team-state.json",))
    assert {path: (tmp_path / path).read_text() for path in WANTED} == WANTED
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert find_file_differences(tmp_path, WANTED) == FileDifference()


def test_a_file_is_old_or_new_but_never_half(tmp_path, monkeypatch):
    """O-10: written beside its place, synced, renamed."""
    update_files(tmp_path, WANTED)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("folkmoot.journal.database.os.write", full)
    with pytest.raises(OSError, match="No space"):
        update_files(tmp_path, {**WANTED, "team-state.json": '{"version": 1}\n'})

    assert (tmp_path / "team-state.json").read_text() == "{}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"tasks", "team-state.json"}
