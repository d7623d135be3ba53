"""What is special about a journal that many processes on many hosts share, on a server that may go away."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from folkmoot.domain.fence import Watch
from folkmoot.domain.settings import Storage
from folkmoot.errors import Conflict, JournalDamaged, OperationFailed, StaleOwner, WrongUse
from folkmoot.journal.artifacts import Body
from folkmoot.journal.codec import encode
from folkmoot.journal.postgres import server
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.postgres.ledger import Ledger
from folkmoot.journal.postgres.server import Server
from folkmoot.ports import Epoch, Version
from tests.journal.chain import check_chain
from tests.journal.contract import ASKED, ENDED, ME, draft, first, read, said
from tests.journal.postgres.cable import COMMIT, cable
from tests.journal.postgres.locks import waits_for_a_lock
from tests.journal.postgres.storm import Storm
from tests.journal.test_processes import child, promised


async def test_a_smaller_position_never_becomes_visible_after_a_greater_one(
    postgres, storage, journal, other
):
    """C2: a transaction that began first and commits last still comes first, and a follower misses nothing."""
    await journal.append("old", ME, [draft()])
    follower = other.follow()
    seen = await first(follower, 1)
    slow = await Server(storage).connect()
    ledger = Ledger(Server(storage), Watch(lambda: 0.0))
    await ledger.begin(slow)
    await ledger.look(slow, ["slow"])
    entries = ledger.append("slow", ME, [Body(draft(), encode("slow", draft()))])

    quick = journal.append("quick", ME, [draft()])
    known = other.append("old", Epoch(1), [draft()])
    await waits_for_a_lock(postgres)
    meanwhile = [entry.stream for entry in await read(other)]
    last = await ledger.write(slow)
    await slow.execute("COMMIT")
    ledger.settle(last)
    await asyncio.gather(quick, known)
    seen += await first(follower, 3)
    await slow.close()

    assert meanwhile == ["old"]
    assert [entry.seq for entry in seen] == [1, 2, 3, 4]
    assert seen[1] == entries[0]


async def test_a_follower_hears_what_another_process_writes_without_looking(journal, other, monkeypatch):
    """Notification: nobody polls in this test."""
    monkeypatch.setattr(PostgresJournal, "poll", None)
    await journal.append("run-1", ME, [draft()])
    follower = other.follow()
    assert [entry.seq for entry in await first(follower, 1)] == [1]
    later = asyncio.ensure_future(first(follower, 2))

    for event in (ASKED, ENDED):
        await journal.append("run-1", Epoch(1), [draft(event)])

    assert [entry.event for entry in await later] == [ASKED, ENDED]


async def test_a_follower_that_hears_nothing_looks_by_itself(journal, other, monkeypatch):
    """Polling is the ground."""
    monkeypatch.setattr(PostgresJournal, "poll", 0.01)
    monkeypatch.setattr(other._listener, "start", lambda: None)
    await journal.append("run-1", ME, [draft()])
    follower = other.follow()
    await first(follower, 1)
    later = asyncio.ensure_future(first(follower, 1))

    await journal.append("run-1", Epoch(1), [draft(ENDED)])

    assert [entry.event for entry in await later] == [ENDED]


async def test_projects_on_one_server_do_not_mix(postgres, storage, journal):
    """Positions, streams and artifacts of their own."""
    elsewhere = PostgresJournal(postgres.storage(f"{storage.project}-2"))
    id = journal.keep(b"mine")
    await journal.append("run-1", ME, [draft()])

    (entry,) = await elsewhere.append("run-1", ME, [draft(ENDED)])

    assert (entry.seq, entry.run_seq) == (1, 1)
    assert [found.event for found in await read(elsewhere)] == [ENDED]
    with pytest.raises(KeyError):
        await elsewhere.artifact(id)
    await elsewhere.close()


async def test_what_a_process_remembers_of_a_stream_is_not_trusted(journal, other):
    """C2: two processes write one stream in turn, and one that was taken over is refused though it remembers well."""
    await journal.append("shared", Version(0), [said("1")])
    await other.append("shared", Version(1), [said("2")])
    await journal.append("shared", Version(2), [said("3")])
    with pytest.raises(Conflict, match="version 3, not 2"):
        await other.append("shared", Version(2), [said("4")])
    await journal.append("run-1", ME, [draft()])
    await journal.append("run-1", Epoch(1), [draft(ASKED)])
    await other.claim("run-1", "you", 30.0, after="me")
    with pytest.raises(StaleOwner):
        await journal.append("run-1", Epoch(1), [draft(ENDED)])

    entries = await read(other)

    assert [entry.event.type for entry in entries[3:]] == ["run.started", "llm.request"]
    assert list(check_chain(entries)) == []


async def test_what_comes_at_once_is_one_transaction_in_the_order_of_the_calls(journal):
    """An epoch holds for what was appended before a claim, and not for what came after it."""
    await journal.append("run-1", ME, [draft()])
    journal.append("run-1", Epoch(1), [said("before")])
    claiming = asyncio.ensure_future(journal.claim("run-1", "me", 30.0))
    await asyncio.sleep(0)

    results = await asyncio.gather(
        journal.append("run-1", Epoch(1), [said("stale")]),
        journal.append("run-1", Epoch(2), [said("after")]),
        journal.append("run-2", ME, [draft()]),
        return_exceptions=True,
    )

    entries = await read(journal, stream="run-1")
    assert (await claiming).epoch == 2
    assert isinstance(results[0], StaleOwner)
    assert [entry.event.text for entry in entries[1:]] == ["before", "after"]


@pytest.mark.parametrize("delivered", [True, False])
@pytest.mark.parametrize("at", [b"add(", COMMIT])
async def test_an_append_whose_connection_is_cut_at_the_commit_is_written_once(
    storage, journal, at, delivered
):
    """C1: the outcome is unknown to the writer, so it looks: what was done is acknowledged, what was not is done."""
    with tempfile.TemporaryDirectory() as folder:
        async with cable(storage, Path(folder)) as (line, through):
            cut = PostgresJournal(through)
            await cut.append("run-1", ME, [draft()])
            line.cut_at, line.delivered = at, delivered

            kept = cut.keep(b"content")
            if at == COMMIT:
                written = await cut.append("run-2", ME, [draft(), said("once")])
            else:
                written = await cut.append("run-1", Epoch(1), [draft(ASKED), said("once")])
            after = await cut.append("run-1", Epoch(1), [draft(ENDED)])
            await cut.close()

    entries = await read(journal)
    assert line.cuts == 1
    assert entries == [entries[0], *written, *after]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4]
    assert list(check_chain(entries)) == []
    assert await journal.artifact(kept) == b"content"


@pytest.mark.parametrize("at", [b"add(", COMMIT])
async def test_whoever_lost_its_run_while_the_answer_to_its_commit_was_lost_is_told_so(storage, journal, at):
    """K-7: its entries are there, but another owns the run by now, so it must not act on them."""
    with tempfile.TemporaryDirectory() as folder:
        async with cable(storage, Path(folder)) as (line, through):
            cut = PostgresJournal(through)
            await asyncio.gather(  # in one transaction, so that both are remembered
                cut.append("run-1", ME, [draft()]),
                cut.append("task-1", Version(0), [said("owned by nobody")]),
            )
            line.cut_at, line.delivered, line.back = at, True, asyncio.Event()
            if at == COMMIT:
                works = [cut.append("run-2", ME, [draft(ASKED)])]
            else:
                works = [
                    cut.append("run-1", Epoch(1), [draft(ASKED)]),
                    cut.append("task-1", Version(1), [said("2")]),
                ]
            await line.arrived.wait()
            lost = "run-2" if at == COMMIT else "run-1"
            await journal.claim(lost, "you", 30.0, after="me")
            line.back.set()

            outcomes = await asyncio.gather(*works, return_exceptions=True)
            await cut.close()

    assert [type(outcome) for outcome in outcomes] == [StaleOwner, list][: len(works)]
    assert (await read(journal, stream=lost))[-1].event == ASKED


async def test_an_append_that_the_server_comes_to_after_its_client_has_given_it_up_is_void(storage, journal):
    """C2: it lay in the buffer of a connection that its client believes dead, and was repeated over another."""
    with tempfile.TemporaryDirectory() as folder:
        async with cable(storage, Path(folder)) as (line, through):
            cut = PostgresJournal(through)
            await cut.append("run-1", ME, [draft()])
            line.cut_at, line.late = b"add(", asyncio.Event()
            written = await cut.append("run-1", Epoch(1), [said("once")])
            line.late.set()
            await line.arrived.wait()
            await cut.close()

    entries = await read(journal)
    assert line.cuts == 1
    assert entries[1:] == list(written)


@pytest.mark.parametrize("delivered", [True, False])
async def test_a_post_whose_connection_is_cut_at_the_commit_lies_there_once(storage, journal, delivered):
    with tempfile.TemporaryDirectory() as folder:
        async with cable(storage, Path(folder)) as (line, through):
            cut = PostgresJournal(through)
            await cut.append("run-1", ME, [draft()])
            line.cut_at, line.delivered = COMMIT, delivered
            await cut.post("run-1", "answer", "42")
            claim = await cut.claim("run-1", "me", 30.0)
            await cut.close()

    assert line.cuts == 1
    assert [post.body for post in await journal.posts(["run-1"])] == ["42"]
    assert list(await journal.claims()) == [claim]


async def test_a_server_killed_under_load_loses_and_doubles_nothing_that_was_acknowledged(postgres, storage):
    """C1, C2: neither for those who write nor for one who follows."""
    storm = Storm(postgres, storage)

    await storm.rage(kills=3)

    assert storm.kills == 3
    assert len(storm.entries) > 600
    assert storm.faults() == []


async def test_two_processes_write_at_once_and_nothing_is_lost_or_mixed_up(storage, journal):
    """C2: they queue for the head; each stream hangs together; positions are dense."""
    where = f"{storage.url}#{storage.project}"
    async with (
        child(where, "crowd", "run-a", 10) as a,
        child(where, "share", "one", 30) as b,
        child(where, "share", "two", 30) as c,
    ):
        followed = await first(journal.follow(), 220)
        promises = await asyncio.gather(*map(promised, (a, b, c)))
        errors = [await process.stderr.read() for process in (a, b, c)]

    assert errors == [b"", b"", b""]
    assert set().union(*promises) == {(entry.seq, entry.id) for entry in followed}
    assert [entry.seq for entry in followed] == list(range(1, 221))
    assert list(check_chain(followed)) == []


async def test_a_server_that_stays_away_is_a_clear_error_and_its_return_heals_everything(
    postgres, journal, monkeypatch
):
    await journal.append("run-1", ME, [draft()])
    postgres.kill()
    monkeypatch.setattr(server, "PATIENCE", 0.3)
    try:
        with pytest.raises(OperationFailed, match=r"no answer for 0 s; .* given up \(.*connect"):
            await journal.append("run-1", Epoch(1), [draft(ASKED)])
        with pytest.raises(OperationFailed, match="no answer"):
            await read(journal)
    finally:
        postgres.start()
    monkeypatch.setattr(server, "PATIENCE", 600.0)

    await journal.append("run-1", Epoch(1), [draft(ENDED)])

    assert [entry.event.type for entry in await read(journal)] == ["run.started", "run.completed"]


async def test_a_server_that_was_never_there_is_said_at_once_and_no_password_with_it(tmp_path):
    url = f"postgresql://me:hunter2@/db?host={tmp_path}&password=hunter3"
    journal = PostgresJournal(Storage(url=url, project="p"))

    with pytest.raises(OperationFailed, match=r"postgresql://me:\*\*\*@/db.*project 'p'.*") as refused:
        await journal.append("run-1", ME, [draft()])

    assert "hunter" not in str(refused.value)
    await journal.close()


async def test_an_address_that_is_none_is_refused_without_showing_it():
    with pytest.raises(WrongUse, match=r"no address of a PostgreSQL: postgresql://me:\*\*\*@x") as refused:
        PostgresJournal(Storage(url="postgresql://me:hunter2@x/db?nonsense=1", project="p"))

    assert "hunter2" not in str(refused.value)


async def test_a_project_that_is_only_read_is_empty_and_not_made(postgres, storage):
    journal = PostgresJournal(storage, readonly=True)

    assert await read(journal) == []
    assert list(await journal.claims()) == []
    assert list(await journal.posts(["run-1"])) == []
    with pytest.raises(OperationFailed, match="reading only"):
        journal.keep(b"x")

    await journal.close()
    made = postgres.query("SELECT 1 FROM pg_namespace WHERE nspname = %s", f"folkmoot_{storage.project}")
    assert made == []


async def test_a_changed_byte_is_damage_with_its_place(postgres, storage, journal):
    """C2: damage is reported, never skipped."""
    await journal.append("run-1", ME, [draft(), said("true"), draft(ENDED)])
    postgres.query(
        f'UPDATE "folkmoot_{storage.project}".entry SET text = replace(text::text, %s, %s)::bytea WHERE seq = 2',
        b"true".hex(),
        b"fals".hex(),
    )

    with pytest.raises(JournalDamaged, match="entry 2 of the journal, 2 of stream 'run-1'"):
        await read(journal)


async def test_a_missing_entry_is_damage_where_its_stream_is_read(postgres, storage, journal):
    await journal.append("run-1", ME, [draft(), said("a"), draft(ENDED)])
    postgres.query(f'DELETE FROM "folkmoot_{storage.project}".entry WHERE seq = 2')

    with pytest.raises(JournalDamaged, match="missing or doubled"):
        await read(journal, stream="run-1")


async def test_a_commit_is_durable_whatever_the_server_usually_does(postgres, storage):
    """C1."""
    postgres.query("ALTER ROLE tester SET synchronous_commit TO off")
    try:
        connection = await Server(storage).connect()
    finally:
        postgres.query("ALTER ROLE tester RESET synchronous_commit")

    shown = await (await connection.execute("SHOW synchronous_commit")).fetchone()

    assert shown == ("on",)
    await connection.close()
