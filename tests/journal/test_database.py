"""The folder and the file of a journal, and what is said when something is wrong with them."""

import random
import shutil
import sqlite3
import stat
import subprocess
from contextlib import closing

import pytest

from folkmoot.errors import FolkmootError, JournalDamaged, OperationFailed, WrongUse
from folkmoot.journal.database import connect, explain, make_folder
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Query
from tests.journal.contract import ASKED, ENDED, ME, Time, draft, read, said


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".folkmoot" / "folkmoot.db"


@pytest.fixture
async def written(tmp_path):
    """The entries of a journal that is closed by now."""
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", ME, [draft(), draft(ASKED), said("hello"), draft(ENDED)])
    await journal.append("run-2", ME, [draft(), said("x" * 100_000)])
    entries = await read(journal)
    await journal.close()
    return entries


async def read_again(folder, **query):
    journal = SqliteJournal.open(folder, Time())
    try:
        return await read(journal, **query)
    finally:
        await journal.close()


def change(file, statement, *values):
    """Do to the file what nobody should."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute(statement, values)
    connection.close()


async def test_everything_in_the_folder_is_private(tmp_path, file):
    journal = SqliteJournal.open(tmp_path, Time())
    journal.keep(b"x" * 100_000)
    await journal.append("run-1", ME, [draft()])

    files = [path for path in file.parent.rglob("*") if path.is_file() and path.name != ".gitignore"]
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in files}
    await journal.close()

    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {"folkmoot.db", "folkmoot.db-wal", "folkmoot.db-shm"} < set(modes)
    assert set(modes.values()) == {"0o600"}


def test_git_ignores_the_folder(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    make_folder(tmp_path)

    status = ["git", "-C", tmp_path, "status", "--porcelain"]
    assert subprocess.run(status, check=True, capture_output=True, text=True).stdout == ""


def test_a_folder_whose_making_was_cut_short_is_ignored_by_git_too(tmp_path):
    make_folder(tmp_path)
    (tmp_path / ".folkmoot" / ".gitignore").write_text("")

    make_folder(tmp_path)

    assert (tmp_path / ".folkmoot" / ".gitignore").read_text() == "*\n"


def test_every_connection_that_writes_uses_the_log_and_syncs_every_commit(tmp_path):
    """C1: NORMAL would lose acknowledged entries in a power cut."""
    connection = connect(make_folder(tmp_path) / "folkmoot.db")

    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


async def test_the_writer_itself_runs_with_full_synchronisation(tmp_path):
    """C1: asked of the connection that commits."""
    journal = SqliteJournal.open(tmp_path, Time())
    asked = {}

    def ask(ledger):
        for pragma in ("journal_mode", "synchronous"):
            asked[pragma] = ledger._connection.execute(f"PRAGMA {pragma}").fetchone()[0]

    await journal._submit(ask)
    await journal.close()

    assert asked == {"journal_mode": "wal", "synchronous": 2}


async def test_a_journal_is_there_when_it_is_opened_again(tmp_path, written):
    """C1."""
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", Epoch(1), [draft(ENDED)])
    again = await read(journal)
    await journal.close()

    assert again[:-1] == written
    assert (again[-1].seq, again[-1].run_seq, again[-1].prev) == (7, 5, written[3].id)


async def test_two_journals_on_one_folder_see_and_fence_each_other(tmp_path):
    time = Time()
    one, two = SqliteJournal.open(tmp_path, time), SqliteJournal.open(tmp_path, time)
    await one.append("run-1", ME, [draft()])
    await two.append("run-2", ME, [draft()])
    await one.append("run-1", Epoch(1), [draft(ASKED)])
    time.now += 31

    claim = await two.claim("run-1", "you", 30.0)
    with pytest.raises(FolkmootError, match="epoch 2"):
        await one.append("run-1", Epoch(1), [draft(ENDED)])
    await two.append("run-1", Epoch(claim.epoch), [draft(ENDED)])

    entries = await read(one)
    await one.close()
    await two.close()
    assert [(entry.seq, entry.stream, entry.run_seq) for entry in entries] == [
        (1, "run-1", 1),
        (2, "run-2", 1),
        (3, "run-1", 2),
        (4, "run-1", 3),
    ]


async def test_a_lease_from_before_the_machine_started_anew_holds_nobody_up(tmp_path):
    """The machine's own time begins anew with it; a lease that ends later than any can is an old one."""
    time = Time()
    time.now = 5_000_000.0
    before = SqliteJournal.open(tmp_path, time)
    await before.append("run-1", ME, [draft()])
    await before.close()
    time.now = 3.0
    after = SqliteJournal.open(tmp_path, time)

    assert [claim.live for claim in await after.claims()] == [False]
    assert (await after.claim("run-1", "you", 30.0)).epoch == 2
    assert [claim.live for claim in await after.claims()] == [True]
    await after.close()


async def test_a_journal_opened_for_reading_reads_and_refuses_to_write(tmp_path, written):
    journal = SqliteJournal.open(tmp_path, Time(), readonly=True)

    assert await read(journal) == written
    assert len(await journal.claims()) == 2
    with pytest.raises(OperationFailed, match="reading only"):
        await journal.append("run-3", ME, [draft()])
    with pytest.raises(OperationFailed, match="reading only"):
        journal.keep(b"x")
    await journal.close()


async def test_a_reader_sees_what_a_writer_beside_it_commits(tmp_path, written):
    writing = SqliteJournal.open(tmp_path, Time())
    reading = SqliteJournal.open(tmp_path, Time(), readonly=True)
    follower = reading.follow(after=len(written))

    await writing.append("run-1", Epoch(1), [said("news")])
    news = await anext(follower)

    await follower.aclose()
    await reading.close()
    await writing.close()
    assert news.event.text == "news"


def test_where_nothing_has_run_there_is_nothing_to_read_and_nothing_is_made(tmp_path):
    with pytest.raises(WrongUse, match="nothing has run there yet"):
        SqliteJournal.open(tmp_path, Time(), readonly=True)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / ".folkmoot").write_text("a file")

    with pytest.raises(OperationFailed, match=r"cannot write the journal in .*\.folkmoot"):
        SqliteJournal.open(tmp_path, Time())


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("content", [b"not a database " * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"x"])
def test_a_file_that_is_no_database_is_damage(tmp_path, file, content, readonly):
    file.parent.mkdir()
    file.write_bytes(content)

    with pytest.raises(JournalDamaged, match=r"folkmoot\.db: byte 0"):
        SqliteJournal.open(tmp_path, Time(), readonly=readonly)


def test_the_database_of_another_program_is_not_touched(tmp_path, file):
    file.parent.mkdir()
    change(file, "CREATE TABLE theirs (x)")
    before = file.read_bytes()

    with pytest.raises(JournalDamaged, match="not one that Folkmoot wrote"):
        SqliteJournal.open(tmp_path, Time())

    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    assert len(before) == file.stat().st_size


async def test_an_entry_that_was_edited_is_reported_with_its_place(tmp_path, file, written):
    """C2: damage is reported, never skipped."""
    text = written[2].text.replace(b"hello", b"jello")
    change(file, "UPDATE entry SET text = ? WHERE seq = 3", text)

    with pytest.raises(JournalDamaged, match=r"entry 3 of the journal, 3 of stream 'run-1': .*hash"):
        await read_again(tmp_path)


async def test_an_entry_that_is_no_json_any_more_is_reported_with_its_place(tmp_path, file, written):
    """C2."""
    change(file, "UPDATE entry SET text = ?, id = ? WHERE seq = 2", b"{", bytes(32))

    with pytest.raises(JournalDamaged, match="entry 2 of the journal, 2 of stream 'run-1'"):
        await read_again(tmp_path, stream="run-1")


async def test_a_deleted_entry_is_reported_by_whoever_reads_its_stream(tmp_path, file, written):
    """C2: a gap is no end."""
    change(file, "DELETE FROM entry WHERE seq = 2")

    with pytest.raises(JournalDamaged, match="entry 3 of the journal, 3 of stream 'run-1': it follows on 1"):
        await read_again(tmp_path, stream="run-1")


async def test_a_stream_without_its_beginning_is_damage(tmp_path, file, written):
    """C2."""
    change(file, "DELETE FROM entry WHERE seq = 1")

    with pytest.raises(JournalDamaged, match="2 of stream 'run-1': it follows on 0"):
        await read_again(tmp_path, stream="run-1")


async def test_a_column_of_the_wrong_type_is_damage(tmp_path, file, written):
    change(file, "UPDATE entry SET id = 'text' WHERE seq = 1")

    with pytest.raises(JournalDamaged, match="not what was written"):
        await read_again(tmp_path)


async def test_an_entry_whose_large_data_is_gone_is_reported_with_its_place(tmp_path, file, written):
    for path in file.parent.glob("artifacts/*/*"):
        path.unlink()

    with pytest.raises(JournalDamaged, match="entry 6 of the journal, 2 of stream 'run-2': the artifact"):
        await read_again(tmp_path)


async def test_large_data_that_was_changed_is_damage(tmp_path, file, written):
    for path in file.parent.glob("artifacts/*/*"):
        path.write_bytes(b"other")

    with pytest.raises(JournalDamaged, match="its content does not match its hash"):
        await read_again(tmp_path)


async def test_whatever_happens_to_the_file_nothing_false_is_read_and_only_our_errors_are_raised(tmp_path):
    """C2: 150 damaged copies; each gives true entries, or an error that names the file or the entry."""
    origin = tmp_path / "origin"
    origin.mkdir()
    journal = SqliteJournal.open(origin, Time())
    for n in range(12):
        await journal.append(f"run-{n}", ME, [draft(), said("text " * 100), draft(ENDED)])
    await journal.post("run-1", "cancel")
    true = await read(journal)
    await journal.close()
    sound = (origin / ".folkmoot" / "folkmoot.db").read_bytes()
    dice = random.Random(5)

    errors = []
    for n in range(150):
        folder = tmp_path / str(n)
        shutil.copytree(origin, folder)
        (folder / ".folkmoot" / "folkmoot.db").write_bytes(damaged(sound, dice))
        try:
            await use_all_of_it(folder, true)
        except FolkmootError as error:
            errors.append(str(error))
        shutil.rmtree(folder)

    assert len(errors) > 50
    assert [error for error in errors if "folkmoot.db" not in error and "of stream" not in error] == []


async def use_all_of_it(folder, true):
    journal = SqliteJournal.open(folder, Time())
    try:
        for query in (Query(), Query(stream="run-3"), Query(types=("run.started",))):
            async for entry in journal.read(query):
                assert entry in true
        await journal.claims()
        await journal.posts(["run-1"])
        await journal.append("run-3", Epoch(1), [draft(ASKED)])
    finally:
        await journal.close()


def damaged(sound: bytes, dice: random.Random) -> bytes:
    position, kind = dice.randrange(len(sound)), dice.randrange(4)
    if kind == 0:
        return sound[:position]
    if kind == 1:
        return sound[:position] + dice.randbytes(64) + sound[position + 64 :]
    if kind == 2:
        page = position // 4096 * 4096
        return sound[:page] + bytes(4096) + sound[page + 4096 :]
    return sound[:position] + bytes([sound[position] ^ (1 << dice.randrange(8))]) + sound[position + 1 :]


def test_a_journal_that_cannot_be_opened_because_the_disk_is_full_says_so(tmp_path):
    """SQLite makes a small file beside the journal first, also for whoever only reads, and calls its lack an I/O error."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE

    said = explain(error, tmp_path / "folkmoot.db", sqlite3.connect(":memory:"))

    assert str(said).endswith("folkmoot.db: the disk is full; free some room on it")
