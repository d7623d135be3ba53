"""What a damaged database, exported log or bundle is found out by."""

import sqlite3
import zipfile

import pytest

from folkmoot.contract.verify import verify
from folkmoot.journal.codec import LIMIT, to_line
from folkmoot.journal.copies import open_source, write_bundle
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Query
from tests.fakes import fake

AGENTS = {"front": "advisors: [law.ai]\ntools: [look]", "law": ""}
SCRIPT = {"front": [{"calls": [{"tool": "look", "arguments": {}}]}, "done"], "law": ["by law"]}


look = fake("look", "x" * (LIMIT + 1))


@pytest.fixture
async def journal(desk, tmp_path):
    at = desk(AGENTS, SCRIPT, tools=[look])
    at.journal = SqliteJournal.open(tmp_path, at.clock.monotonic)
    await at.run("front.ai")
    yield at.journal
    await at.journal.close()


@pytest.fixture
def file(tmp_path, journal):
    """The database, open to whoever wants to damage it."""
    connection = sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db", isolation_level=None)
    yield connection
    connection.close()


async def faults(source, **options):
    verdict = await verify(source, **options)
    return [(fault.guarantee, fault.run_seq, fault.words) for fault in verdict.faults]


async def told(path):
    source = open_source(path)
    try:
        return await faults(source, artifacts=source.artifacts)
    finally:
        await source.close()


async def exported(journal):
    return [to_line(entry) async for entry in journal.read(Query())]


async def test_a_sound_journal_log_and_bundle_hold(journal, tmp_path):
    (tmp_path / "log").write_bytes(b"".join(await exported(journal)))
    await write_bundle(journal, [], tmp_path / "bundle")

    assert await faults(journal) == []
    assert await told(tmp_path / "log") == []
    assert await told(tmp_path / "bundle") == []


@pytest.mark.parametrize(
    ("damage", "run_seq", "words"),
    [
        ("DELETE FROM entry WHERE run_seq = 3", 4, "it follows on 2: entries are missing or doubled"),
        (
            "UPDATE entry SET text = CAST(replace(text, 'by law', 'no law') AS BLOB) WHERE type = 'llm.response'",
            5,
            "its content does not match its hash",
        ),
        ("UPDATE entry SET type = 'llm.failed' WHERE run_seq = 5", 5, "it was written as 'llm.response'"),
        ("UPDATE entry SET run_seq = 9 WHERE run_seq = 5", 9, "it was written as 5 of 'run-1'"),
    ],
)
async def test_a_changed_database_is_found_out(journal, file, damage, run_seq, words):
    """C2: damage is reported with its place, never skipped."""
    file.execute(damage)

    found = await faults(journal)

    assert ("C2", run_seq) == found[0][:2]
    assert words in found[0][2]


async def test_what_stands_behind_a_damaged_entry_is_checked_too(journal, file):
    """C2: one changed byte is one violation."""
    file.execute("UPDATE entry SET text = CAST(replace(text, '2026', '2027') AS BLOB) WHERE run_seq = 2")

    assert await faults(journal) == [("C2", 2, "its content does not match its hash")]


async def test_swapped_entries_are_found_out(journal, file):
    """C2."""
    for old, new in ((3, -1), (4, 3), (-1, 4)):
        file.execute("UPDATE entry SET seq = ? WHERE seq = ?", (new, old))

    assert [found[:2] for found in await faults(journal) if found[0] == "C2"] == [
        ("C2", 4),
        ("C2", 3),
        ("C2", 5),
    ]


async def test_changed_and_missing_artifacts_are_found_out(journal, file, tmp_path):
    """C1: the pinned project changed in its row, a large result gone from its file."""
    for large in (tmp_path / ".folkmoot" / "artifacts").glob("??/*"):
        large.unlink()
    file.execute("UPDATE artifact SET content = replace(content, 'You', 'YOU')")  # a text, no bytes

    found = await faults(journal)

    assert {guarantee for guarantee, _, _ in found} == {"C1"}
    assert "its content does not match its hash" in found[0][2]
    assert "which is missing" in found[-1][2]


async def test_the_missing_data_of_a_large_event_is_found_out(desk, tmp_path):
    """C1, C2."""
    at = desk({"a": ""}, {"a": ["x" * (LIMIT + 1)]})
    at.journal = SqliteJournal.open(tmp_path, at.clock.monotonic)
    await at.run("a.ai")
    for large in (tmp_path / ".folkmoot" / "artifacts").glob("??/*"):
        large.unlink()

    assert [found[2].split()[-1] for found in await faults(at.journal) if found[0] == "C2"] == ["missing"] * 3
    await at.journal.close()


async def test_a_changed_log_is_found_out(journal, tmp_path):
    """C2: of an exported log too, without anything else at hand."""
    lines, log = await exported(journal), tmp_path / "log"

    log.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    assert [found[:2] for found in await told(log) if found[0] == "C2"] == [("C2", 5)]

    log.write_bytes(b"".join([*lines[:3], lines[4], lines[3], *lines[5:]]))
    assert ("C2", 4, "it stands behind entry 5 of the journal") in await told(log)

    log.write_bytes(b"".join([*lines[:3], b'{"what": "is this"}\n', *lines[4:]]))
    found = await told(log)
    assert found[0][2].startswith("line 4: this is no line of a journal")
    assert found[1][:2] == ("C2", 5)

    log.write_bytes(b"".join([*lines, lines[0][:-2] + b',"deep":' + b"[" * 100_000 + b"\n"]))
    (found,) = await told(log)
    assert found[2].startswith(f"line {len(lines) + 1}: this is no line of a journal")


async def test_a_log_says_what_it_cannot_show(journal, tmp_path):
    (tmp_path / "log").write_bytes(b"".join(await exported(journal)))
    source = open_source(tmp_path / "log")

    said = dict((await verify(source, artifacts=False)).checked())

    assert said["C1"].startswith("not checked")
    assert said["C4"].startswith("not checked")
    assert said["C6"].endswith("budgets not checked")


async def test_a_changed_bundle_is_found_out(journal, tmp_path):
    """C1, C2: its artifacts and its lines."""
    await write_bundle(journal, [], tmp_path / "sound")
    with zipfile.ZipFile(tmp_path / "sound") as sound, zipfile.ZipFile(tmp_path / "forged", "w") as forged:
        for name in sound.namelist():
            content = sound.read(name)
            forged.writestr(name, content.replace(b"by law", b"no law").replace(b"You are", b"You be"))

    found = await told(tmp_path / "forged")

    assert ("C2", 5, "its content does not match its hash") in found
    assert any(guarantee == "C1" and "does not match its hash" in words for guarantee, _, words in found)


async def test_a_torn_file_is_said_to_be_unreadable(journal, file, tmp_path):
    """C1: what cannot be read any more is a violation, not a crash."""
    await write_bundle(journal, [], tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    torn = tmp_path / "torn"
    middle = whole.index(b"journal.ndjson") + 200
    torn.write_bytes(whole[:middle] + bytes(40) + whole[middle + 40 :])

    found = await told(torn)

    assert found[-1][0] == "C1"
    assert "nothing can be read behind entry" in found[-1][2]
