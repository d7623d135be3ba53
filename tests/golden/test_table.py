"""Every command and every HTTP operation of 0.1.0 answers as it did, but for what `differences.toml` lists."""

import json

import pytest

from tests.golden.record.compare import explained, group_of, lines_of, read_differences, unlisted, unseen
from tests.golden.record.program import RECORD
from tests.golden.record.requests import serving
from tests.golden.record.table import COMMANDS, REQUESTS, Projects, read_rows

ANSWER = {"exit", "out", "err", "status", "kind", "json"}


@pytest.mark.parametrize("group", sorted({group_of(row["name"]) for row in read_rows(COMMANDS)}))
def test_every_command_answers_as_it_did_in_0_1_0(group, tmp_path):
    """Each in a project of its own: exit code, JSON without prose, and whether anything was said."""
    projects = Projects(tmp_path)
    rows = [row for row in read_rows(COMMANDS) if group_of(row["name"]) == group]
    hold(rows, lambda row: projects.answered(row["calls"]))


def test_every_operation_answers_as_it_did_in_0_1_0(tmp_path):
    """Before one server: status, kind, JSON without prose."""
    with serving(tmp_path) as server:
        hold(read_rows(REQUESTS), server.answered)


def test_every_command_and_operation_of_0_1_0_is_in_the_table():
    """With something that it does and something that it refuses."""
    commands, operations = read_rows(COMMANDS), read_rows(REQUESTS)
    for file, rows in (("commands.json", commands), ("operations.json", operations)):
        for name in json.loads((RECORD / file).read_text()):
            of = [row for row in rows if row["name"].partition(": ")[0] == name]
            good = [row for row in of if row.get("exit") in (0, 6) or row.get("status", 500) < 300]
            assert good or name == "POST /api/approvals/{id}/revoke", name
            assert [row for row in of if row not in good], name


def test_each_listed_difference_is_about_rows_of_one_command_or_of_http():
    """So that the test which plays these rows can tell whether it still occurs."""
    rows = [row["name"] for row in (*read_rows(COMMANDS), *read_rows(REQUESTS))]
    for entry in read_differences():
        groups = {group_of(row) for row in rows if entry.fits(row)}
        assert len(groups) == 1, f"{entry.rows} fits rows of {len(groups)} groups: {sorted(groups)}"


def test_a_difference_is_shown_line_by_line_and_needs_its_place_in_the_list(tmp_path):
    file = tmp_path / "differences.toml"
    file.write_text(
        '[[difference]]\nrows = "runs *"\nchanges = ["exit: 2 -> 4", "out.x: *"]\nreason = "K-0"\n'
    )
    listed = read_differences(file)
    lines = list(lines_of({"exit": 2, "out": {"a": [1, 2]}}, {"exit": 4, "out": {"a": [1], "b": None}}))

    assert lines == ["exit: 2 -> 4", "out.a.1: 2 -> absent", "out.b: absent -> null"]
    assert unlisted("runs show: none", lines, listed) == lines[1:]
    assert unseen(["runs show: none"], listed) == ["runs *: out.x: * (listed, and did not occur)"]
    assert unseen(["tasks show: none"], listed) == []


def hold(rows, answered):
    """Play each row again; everything that is not as recorded, nor listed, is told at once."""
    listed, found = read_differences(), {}
    for row in rows:
        recorded = {key: value for key, value in row.items() if key in ANSWER}
        if lines := unlisted(row["name"], list(lines_of(recorded, answered(row))), listed):
            found[row["name"]] = lines
    left = unseen([row["name"] for row in rows], listed)
    told = "\n".join([*left, explained(found)]).strip()
    assert not told, f"it does not come as recorded:\n{told}"
