"""The file that events are written to: whole lines, each once, put aside when it is full."""

import json

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.errors import SinkFailed
from folkmoot.journal.codec import from_line, to_line
from folkmoot.sinks.ndjson import NdjsonSink
from tests.sinks.receiver import happen, steps


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "coordination-events.ndjson"


def sink(path, max_bytes=10 * 1024 * 1024):
    return NdjsonSink(path, to_line, max_bytes)


def written(path):
    return [from_line(line) for line in path.read_bytes().splitlines(keepends=True)]


async def test_each_line_is_an_entry_as_an_export_has_it(journal, path):
    """E-48: each line is valid JSON, append only."""
    entries = await happen(journal, *steps(1, 3))

    await sink(path).deliver(entries[:1], "")
    before = path.read_bytes()
    await sink(path).deliver(entries[1:], "")

    assert path.read_bytes().startswith(before)
    assert written(path) == entries
    assert [json.loads(line)["data"]["step"] for line in path.read_text().splitlines()] == ["s1", "s2", "s3"]


async def test_a_batch_that_comes_again_after_a_crash_is_not_written_twice(journal, path):
    """E-48: survives a restart; also if more comes with the batch than the first time, or less."""
    entries = await happen(journal, *steps(1, 9))
    await sink(path).deliver(entries[:6], "")

    await sink(path).deliver(entries[2:4], "")
    await sink(path).deliver(entries[4:8], "")

    assert written(path) == entries[:8]


async def test_half_a_line_that_a_crash_left_is_cut_off_and_its_entry_written_again(journal, path):
    entries = await happen(journal, *steps(1, 3))
    await sink(path).deliver(entries[:2], "")
    with path.open("ab") as file:
        file.write(to_line(entries[2])[:-20])

    await sink(path).deliver(entries[1:], "")

    assert written(path) == entries


async def test_a_file_that_is_nothing_but_half_a_long_line_is_begun_anew(journal, path):
    path.parent.mkdir()
    path.write_bytes(b"x" * 200_000)
    entries = await happen(journal, *steps(1, 1))

    await sink(path).deliver(entries, "")

    assert written(path) == entries


async def test_a_file_is_put_aside_before_it_grows_too_large(journal, path):
    entries = await happen(journal, *steps(1, 7))
    three = 3 * len(to_line(entries[0]))

    await sink(path, three).deliver(entries, "")

    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == [
        "coordination-events.2026-01.001.ndjson",
        "coordination-events.2026-01.002.ndjson",
        "coordination-events.ndjson",
    ]
    assert [entry for file in files for entry in written(file)] == entries
    assert all(file.stat().st_size <= three for file in files)


async def test_a_batch_half_of_which_was_put_aside_is_still_known_after_a_crash(journal, path):
    entries = await happen(journal, *steps(1, 5))
    three = 3 * len(to_line(entries[0]))
    await sink(path, three).deliver(entries, "")

    await sink(path, three).deliver(entries, "")

    assert [entry for file in sorted(path.parent.iterdir()) for entry in written(file)] == entries


async def test_a_line_longer_than_a_file_may_be_has_a_file_of_its_own(journal, path):
    entries = await happen(journal, *steps(1, 2))

    await sink(path, 1).deliver(entries, "")

    assert [written(file) for file in sorted(path.parent.iterdir())] == [entries[:1], entries[1:]]


async def test_every_month_has_its_own_files(journal, path):
    """5.1: rotation monthly and at 10 MB."""
    clock = FakeClock()
    january = await happen(journal, *steps(1, 1), clock=clock)
    await clock.advance(31 * 86_400)
    february = await happen(journal, *steps(2, 2), clock=clock)

    await sink(path).deliver(january, "")
    await sink(path).deliver(february, "")

    assert written(path.with_name("coordination-events.2026-01.001.ndjson")) == january
    assert written(path) == february


async def test_two_processes_that_write_the_same_batch_leave_it_there_once(journal, path):
    entries = await happen(journal, *steps(1, 4))
    one, other = sink(path), sink(path)
    await one.deliver(entries[:2], "")
    await other.deliver(entries[:2], "")
    await one.deliver(entries[2:], "")

    await other.deliver(entries[2:], "")

    assert written(path) == entries


async def test_a_place_that_cannot_be_written_is_named(journal, tmp_path):
    (tmp_path / "state").write_text("no folder")
    entries = await happen(journal, *steps(1, 1))

    with pytest.raises(SinkFailed, match=r"coordination-events.ndjson cannot be written: "):
        await sink(tmp_path / "state" / "coordination-events.ndjson").deliver(entries, "")
