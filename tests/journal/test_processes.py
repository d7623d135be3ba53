"""Several processes on one journal, and processes that die."""

import asyncio
import os
import signal
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from folkmoot.journal.sqlite import SqliteJournal
from tests.journal.chain import check_chain
from tests.journal.contract import Time, first, read

CHILD = Path(__file__).with_name("child.py")
FOR_EVER = 1_000_000


@asynccontextmanager
async def child(folder, what, name, count):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        CHILD,
        folder,
        what,
        name,
        str(count),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(300):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def promised(process, lines=None):
    """What the process said was durable: all of it, or the first lines."""
    read = process.stdout.readline
    said = [await read() for _ in range(lines)] if lines else (await process.stdout.read()).splitlines()
    whole = [line.split() for line in said if len(line.split()) == 2 and len(line.split()[1]) == 64]
    return {(int(seq), id.decode()) for seq, id in whole}


async def all_entries(folder):
    journal = SqliteJournal.open(folder, Time())
    entries = await read(journal)
    await journal.close()
    return entries


@pytest.mark.parametrize("what", ["write", "crowd"])
async def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path, what):
    """C1: the parent holds the acknowledgements it read."""
    acknowledged = set()
    for round in range(3):
        async with child(tmp_path, what, f"run-{round}", FOR_EVER) as process:
            acknowledged |= await promised(process, lines=120)
            os.kill(process.pid, signal.SIGKILL)
            acknowledged |= await promised(process)

    entries = await all_entries(tmp_path)

    assert len(acknowledged) >= 360
    assert acknowledged <= {(entry.seq, entry.id) for entry in entries}
    assert list(check_chain(entries)) == []


async def test_two_processes_write_at_once_and_nothing_is_lost_or_mixed_up(tmp_path):
    """C2: they queue for the lock; each stream hangs together; positions are dense."""
    async with (
        child(tmp_path, "write", "run-a", 150) as a,
        child(tmp_path, "crowd", "run-b", 40) as b,
        child(tmp_path, "share", "one", 60) as c,
        child(tmp_path, "share", "two", 60) as d,
    ):
        promises = await asyncio.gather(*map(promised, (a, b, c, d)))
        errors = [await process.stderr.read() for process in (a, b, c, d)]

    entries = await all_entries(tmp_path)

    assert errors == [b"", b"", b"", b""]
    assert [len(promise) for promise in promises] == [300, 640, 60, 60]
    assert set().union(*promises) == {(entry.seq, entry.id) for entry in entries}
    assert [entry.seq for entry in entries] == list(range(1, 1061))
    assert list(check_chain(entries)) == []


async def test_a_process_follows_what_another_writes(tmp_path):
    """C2: every reader sees a prefix, without a gap, also while somebody writes."""
    journal = SqliteJournal.open(tmp_path, Time())
    async with child(tmp_path, "crowd", "run", 20) as process:
        followed = await first(journal.follow(), 320)
        promises = await promised(process)

    await journal.close()
    assert [entry.seq for entry in followed] == list(range(1, 321))
    assert {(entry.seq, entry.id) for entry in followed} == promises
    assert list(check_chain(followed)) == []


async def test_a_process_that_forgets_to_close_ends_and_has_lost_nothing(tmp_path):
    """C1: the thread of the writer does not keep it alive."""
    async with child(tmp_path, "forget", "run", 60) as process:
        promises = await promised(process)
        errors = await process.stderr.read()
        ended = await process.wait()

    assert (ended, errors) == (0, b"")
    assert promises == {(entry.seq, entry.id) for entry in await all_entries(tmp_path)}


READING = """
import asyncio, os, pathlib, sys, time
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Query

async def main():
    if os.getuid() == 0:  # who may write everywhere
        os.setuid(65534)
    journal = SqliteJournal.open(pathlib.Path(sys.argv[1]), time.monotonic, readonly=True)
    print([entry.seq async for entry in journal.read(Query())])
    await journal.close()

asyncio.run(main())
"""


async def test_a_journal_in_a_folder_without_the_right_to_write_can_be_read():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with child(folder, "write", "run", 3) as process:
            await process.wait()
        for path, mode in (("", 0o755), (".folkmoot/folkmoot.db", 0o444), (".folkmoot", 0o555)):
            (folder / path).chmod(mode)

        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            READING,
            folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        (folder / ".folkmoot").chmod(0o755)

    assert (out.decode().strip(), err.decode()) == ("[1, 2, 3, 4, 5, 6]", "")
