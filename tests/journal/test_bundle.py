"""One file to share: the same for the same runs, whole or not there, and harmless wherever it comes from."""

import zipfile

import msgspec
import pytest

from folkmoot.errors import JournalDamaged, JournalTooNew, WrongUse
from folkmoot.journal import copies as bundles
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.copies import Bundle, open_bundle, open_source, write_bundle
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import Epoch, Query
from tests.journal.contract import ASKED, ENDED, ME, draft, read, said

MANIFEST = b'{"format":1,"runs":[],"artifacts":0}'


@pytest.fixture
async def journal():
    journal = MemoryJournal()
    graph = journal.keep(b"the graph")
    begin = draft(msgspec.structs.replace(draft().event, graph=graph))
    await journal.append("run-1", ME, [begin, draft(ASKED)])
    await journal.append("run-2", ME, [begin, said("x" * (LIMIT + 1))])
    await journal.append("run-1", Epoch(1), [draft(ENDED)])
    return journal


def zipped(path, *members):
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members:
            packed.writestr(name, content)
    return path


async def test_a_bundle_holds_one_run_or_several_and_all_they_name(journal, tmp_path):
    """Issue 4, one file to share."""
    for runs, count in (["run-1"], 3), ([], 5), (["run-1", "run-2"], 5):
        manifest = await write_bundle(journal, runs, tmp_path / "b.zip")
        opened = await open_bundle(tmp_path / "b.zip")
        entries = await read(opened)

        assert len(entries) == count
        assert {run.run_id: run.last for run in manifest.runs} == {e.stream: e.id for e in entries}
        assert await opened.artifact(entries[0].event.graph) == b"the graph"
        for entry in entries:
            assert entry.text in [each.text for each in await read(journal, stream=entry.stream)]


async def test_the_same_runs_give_the_same_bytes(journal, tmp_path):
    await write_bundle(journal, [], tmp_path / "one")
    await write_bundle(journal, [], tmp_path / "two")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    with zipfile.ZipFile(tmp_path / "one") as packed:
        assert packed.namelist()[0] == "journal.ndjson"
        assert packed.read("journal.ndjson").count(b"\n") == 5


async def test_a_bundle_that_could_not_be_finished_is_not_there(journal, tmp_path):
    """An artifact is missing: whoever gets the file could not replay it."""
    (tmp_path / "b.zip").write_bytes(b"the one before")
    await journal._submit(
        lambda ledger: ledger._connection.execute("DELETE FROM artifact WHERE length(content) < 100")
    )

    with pytest.raises(
        JournalDamaged, match=r"of stream 'run-\d': it names the artifact .* which is missing"
    ):
        await write_bundle(journal, [], tmp_path / "b.zip")
    with pytest.raises(WrongUse, match="cannot write"):
        await write_bundle(journal, [], tmp_path / "no" / "b.zip")

    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]
    assert (tmp_path / "b.zip").read_bytes() == b"the one before"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "artifacts/../journal.ndjson", "artifacts/" + "A" * 64, "readme.txt"],
)
def test_a_name_that_has_no_place_in_a_bundle_is_refused(tmp_path, name):
    path = zipped(
        tmp_path / "b.zip", ("manifest.json", MANIFEST), ("journal.ndjson", b""), (name, b"anything")
    )

    with pytest.raises(JournalDamaged, match="has no place in a bundle"):
        Bundle(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_frames_that_are_wrong_are_refused_with_the_reason(tmp_path):
    whole = (("manifest.json", MANIFEST), ("journal.ndjson", b""))
    with pytest.raises(JournalDamaged, match=r"it has no journal\.ndjson"):
        Bundle(zipped(tmp_path / "a", whole[0]))
    with pytest.raises(JournalDamaged, match="has no place"):
        Bundle(zipped(tmp_path / "b", *whole, whole[0]))
    with pytest.raises(JournalTooNew, match="has format 2"):
        Bundle(zipped(tmp_path / "c", ("manifest.json", b'{"format":2}'), whole[1]))
    with pytest.raises(JournalDamaged, match=r"manifest\.json"):
        Bundle(zipped(tmp_path / "d", ("manifest.json", b"[]"), whole[1]))
    (tmp_path / "e").write_bytes(b"PK\3\4 and then nothing")
    with pytest.raises(JournalDamaged, match="is no bundle"):
        Bundle(tmp_path / "e")
    with zipfile.ZipFile(tmp_path / "f", "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr("journal.ndjson", b"")
    with pytest.raises(JournalDamaged, match="packed in a way"):
        Bundle(tmp_path / "f")
    with pytest.raises(JournalDamaged, match=r"manifest\.json: maximum recursion"):
        Bundle(zipped(tmp_path / "g", ("manifest.json", b'{"x":' * 100_000), whole[1]))
    with pytest.raises(WrongUse, match="unfolds to 36 bytes; at most 10"):
        Bundle(zipped(tmp_path / "h", *whole), 10)


async def test_a_bundle_whose_content_is_forged_is_not_opened(journal, tmp_path):
    await write_bundle(journal, [], tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    lines = members["journal.ndjson"].splitlines(keepends=True)

    for forged in (
        {"journal.ndjson": b"".join(lines[1:])},
        {"journal.ndjson": members["journal.ndjson"].replace(b"Hello", b"Hullo")},
        {name: b"another graph" for name in members if name.startswith("artifacts/")},
    ):
        with pytest.raises(JournalDamaged):
            await open_bundle(zipped(tmp_path / "forged", *(members | forged).items()))


async def test_runs_too_large_to_be_read_back_are_not_bundled(journal, tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "LARGEST", 1000)

    with pytest.raises(WrongUse, match="too large for a bundle"):
        await write_bundle(journal, [], tmp_path / "b.zip")
    assert list(tmp_path.iterdir()) == []


async def test_a_file_is_known_by_how_it_begins(journal, tmp_path):
    await write_bundle(journal, [], tmp_path / "any.name")
    (tmp_path / "other").write_bytes(b"hello")

    opened = open_source(tmp_path / "any.name")
    assert len([each async for each in opened.stored(Query(stream="run-1"))]) == 3
    await opened.close()
    with pytest.raises(WrongUse, match="no backup, no bundle and no exported log"):
        open_source(tmp_path / "other")
    with pytest.raises(WrongUse, match="No such file"):
        open_source(tmp_path / "nothing")
