"""Keeping house while other hosts write, and over a connection that may be cut."""

import asyncio
import math
import tempfile
from operator import methodcaller
from pathlib import Path

import pytest

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.fence import Watch
from folkmoot.errors import Conflict, JournalDamaged, JournalTooNew
from folkmoot.journal.artifacts import Unnamed
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.postgres.artifacts import remove
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.postgres.ledger import Ledger
from folkmoot.journal.postgres.server import Server
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import Epoch, Query, Swept, Version
from tests.journal.chain import check_chain
from tests.journal.contract import ASKED, ENDED, ME, PRUNED, draft, first, read, said
from tests.journal.postgres.cable import COMMIT, cable
from tests.journal.postgres.locks import waits_for_a_lock


def naming(id: str):
    return draft(ToolFinished(1, 1, "look", "seen", "ev-1", artifact=id))


async def elsewhere(*drafts) -> list:
    """A run of another journal, as it is stored there."""
    other = MemoryJournal()
    await other.append("run-9", ME, drafts)
    return [stored async for stored in other.stored(Query())]


@pytest.mark.parametrize("run", ["known", "new"])
async def test_content_that_is_swept_between_being_kept_and_being_named_is_kept_again(
    postgres, storage, journal, other, run
):
    """C1: a sweep on another host comes in at the worst moment, and an entry never names what is gone."""
    await other.append("known", ME, [draft()])
    id = other.keep(b"content")
    sweeping = await Server(storage).connect()
    await Ledger(Server(storage), Watch(lambda: 0.0)).begin(sweeping)

    naming_it = other.append(run, Epoch(1) if run == "known" else ME, [naming(id)])
    await waits_for_a_lock(postgres)
    swept = []
    await remove(Unnamed({id}, math.inf, 0), swept, sweeping)
    await sweeping.execute("COMMIT")
    await sweeping.close()
    await naming_it

    assert swept == [Swept(1, 7)]
    assert await journal.artifact(id) == b"content"


@pytest.mark.parametrize("size", [1, LIMIT + 1])
async def test_a_sweep_sees_what_another_host_names_while_it_looks(journal, other, size):
    """C1: also inside an event so large that its data is an artifact itself."""
    id = other.keep(b"content")
    await other.append("run-1", ME, [draft()])
    found = await journal._reader.unnamed(0.0)
    await other.append("run-1", Epoch(1), [said(f"{'x' * size} {id}")])

    (swept,) = await journal._submit(methodcaller("sweep", found))

    assert found.ids == {id}
    assert swept == Swept()
    assert await journal.artifact(id) == b"content"


async def test_a_sweep_leaves_what_another_host_keeps_again_while_it_looks(postgres, storage, journal, other):
    id = other.keep(b"content")
    await other.append("run-1", ME, [draft()])
    postgres.query(f'UPDATE "folkmoot_{storage.project}".artifact SET kept = kept - 2000')
    found = await journal._reader.unnamed(1_000.0)
    other.keep(b"content")
    await other.append("run-1", Epoch(1), [draft(ASKED)])

    (swept,) = await journal._submit(methodcaller("sweep", found))

    assert found.ids == {id}
    assert swept == Swept()


async def test_where_the_data_of_an_event_is_not_as_it_was_nothing_is_swept(postgres, storage, journal):
    """It may have mentioned anything."""
    journal.keep(b"content")
    await journal.append("run-1", ME, [said("x" * (LIMIT + 1))])
    postgres.query(f'UPDATE "folkmoot_{storage.project}".artifact SET content = %s', b"changed")

    with pytest.raises(JournalDamaged, match="does not match its hash"):
        await journal.sweep(0.0)

    assert postgres.query(f'SELECT count(*) FROM "folkmoot_{storage.project}".artifact') == [(2,)]


async def test_data_that_is_missing_is_a_fault_of_its_entry_alone(postgres, storage, journal):
    """C2: whoever checks a journal sees all the rest; whoever reads it is told."""
    await journal.append("run-1", ME, [said("x" * (LIMIT + 1)), draft(ENDED)])
    postgres.query(f'DELETE FROM "folkmoot_{storage.project}".artifact')

    large, end = [stored async for stored in journal.stored(Query())]

    assert (large.text, end.fault) == (b"", "")
    assert "is missing" in large.fault
    with pytest.raises(JournalDamaged, match=r"entry 1 of the journal.* is missing"):
        await read(journal)


async def test_a_follower_on_another_host_sees_a_stream_that_is_taken_in(journal, other):
    await journal.append("run-1", ME, [draft()])
    follower = other.follow()
    await first(follower, 1)
    stored = await elsewhere(draft(), said("x" * (LIMIT + 1)))

    await journal.restore("run-9", stored)

    assert [entry.id for entry in await first(follower, 2)] == [each.id for each in stored]


async def test_of_two_hosts_that_take_in_the_same_stream_one_does(journal, other):
    """C2: all of it is written, or nothing."""
    stored = await elsewhere(draft(), draft(ENDED))

    results = await asyncio.gather(
        journal.restore("run-9", stored), other.restore("run-9", stored), return_exceptions=True
    )

    assert sorted(map(type, results), key=str) == [type(None), Conflict]
    assert [entry.id for entry in await read(journal)] == [each.id for each in stored]


@pytest.mark.parametrize("delivered", [True, False])
async def test_what_is_taken_in_or_pruned_as_the_connection_is_cut_is_so_once(storage, journal, delivered):
    """C1: the outcome of the commit is unknown to the writer, so it looks."""
    stored = await elsewhere(draft(), said("x" * (LIMIT + 1)), draft(ENDED))
    with tempfile.TemporaryDirectory() as folder:
        async with cable(storage, Path(folder)) as (line, through):
            cut = PostgresJournal(through)
            await cut.claims()
            line.cut_at, line.delivered = COMMIT, delivered
            await cut.restore("run-9", stored)
            restored = await read(journal)
            line.cut_at, line.delivered = COMMIT, delivered
            removed = await cut.prune("run-9", Version(3), draft(PRUNED))
            await cut.close()

    entries = await read(journal)
    assert line.cuts == 2
    assert [entry.id for entry in restored] == [each.id for each in stored]
    assert removed == 3
    assert [(entry.seq, entry.event) for entry in entries] == [(4, PRUNED)]
    assert list(check_chain(entries)) == []


async def test_a_write_that_is_refused_as_a_whole_keeps_nobody_waiting(postgres, storage, journal):
    """Its transaction ends with it, and the lock of the head too."""
    await journal.append("run-1", ME, [draft()])
    schema = f'"folkmoot_{storage.project}"'
    postgres.query(f"INSERT INTO {schema}.release VALUES (99, '9.9')")

    with pytest.raises(JournalTooNew):
        await journal.append("run-2", ME, [draft()])

    assert postgres.query(f"SELECT seq FROM {schema}.head FOR UPDATE NOWAIT") == [(1,)]
