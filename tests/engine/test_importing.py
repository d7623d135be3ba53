"""Runs of one journal become runs of another, as they are."""

import pytest
from msgspec.structs import replace

from folkmoot import MemoryJournal
from folkmoot.contract.verify import verify
from folkmoot.engine.runs import import_runs, list_runs, prune_runs
from folkmoot.errors import Conflict, JournalDamaged
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.copies import back_up, open_source, write_bundle
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import NewRun, Query
from tests.fakes import fake

AGENTS = {"front": "advisors: [law.ai]\ntools: [look, ask_user]", "law": ""}
ASK = {
    "calls": [{"tool": "look", "arguments": {}}, {"tool": "ask_user", "arguments": {"question": "Which?"}}]
}
SCRIPT = {"front": [ASK, "done"], "law": ["x" * (LIMIT + 1)]}


look = fake("look", "y" * (LIMIT + 1))


@pytest.fixture
async def at(desk, tmp_path):
    """A run that waits for an answer."""
    at = desk(AGENTS, SCRIPT, tools=[look])
    (tmp_path / "first").mkdir()
    at.journal = SqliteJournal.open(tmp_path / "first", at.clock.monotonic)
    async with at.open() as moot:
        await moot.run("front.ai", "money")
    yield at
    await at.journal.close()


async def bundled(at, tmp_path):
    await write_bundle(at.journal, [], tmp_path / "file")


async def backed_up(at, tmp_path):
    back_up(tmp_path / "first", tmp_path / "file")


def memory(at, tmp_path):
    return MemoryJournal(at.clock.monotonic)


def sqlite(at, tmp_path):
    (tmp_path / "second").mkdir(exist_ok=True)
    return SqliteJournal.open(tmp_path / "second", at.clock.monotonic)


async def texts(journal):
    return [each.text async for each in journal.stored(Query())]


@pytest.mark.parametrize("backend", [memory, sqlite])
@pytest.mark.parametrize("write", [bundled, backed_up])
async def test_a_run_goes_on_in_another_journal(at, tmp_path, write, backend):
    """Issue 4, import: verified after, known when it comes again, and nothing of it is lost."""
    await write(at, tmp_path)
    before = await texts(at.journal)
    await at.journal.close()
    source, at.journal = open_source(tmp_path / "file"), backend(at, tmp_path)

    done = await import_runs(at.journal, source)
    again = await import_runs(at.journal, source)
    await source.close()

    assert (done.runs, done.entries, done.known) == (1, len(before), 0)
    assert (again.runs, again.entries, again.known) == (0, 0, 1)
    assert await texts(at.journal) == before
    assert (await verify(at.journal)).holds
    async with at.open() as moot:
        (item,) = await moot.inbox()
        await moot.reply(item.answer("That one"))
        assert (await moot.resume("run-1")).status == "completed"
    assert (await verify(at.journal)).holds


async def test_another_run_of_the_same_name_refuses_everything(at, tmp_path):
    """Issue 4: an existing run is taken only if it is identical."""
    await bundled(at, tmp_path)
    (started,) = [entry.draft async for entry in at.journal.read(Query(limit=1))]
    target = MemoryJournal()
    await target.append(
        "run-1", NewRun("me", 0.0), [replace(started, event=replace(started.event, request="!"))]
    )
    source = open_source(tmp_path / "file")

    with pytest.raises(Conflict, match="there is already another run 'run-1'"):
        await import_runs(target, source)

    await source.close()
    assert len(await texts(target)) == 1


async def test_what_does_not_hold_is_not_imported(at, tmp_path):
    """C1 to C7 are checked before the first entry is written."""
    drafts = [entry.draft async for entry in at.journal.read(Query())]
    forged, target = MemoryJournal(), MemoryJournal()
    await forged.append("run-1", NewRun("me", 0.0), [drafts[0], *drafts[2:]])

    with pytest.raises(
        JournalDamaged, match=r"nothing was imported: run-1 at 1: it names the artifact .* more"
    ):
        await import_runs(target, forged)

    assert await texts(target) == []


async def test_a_run_that_was_pruned_on_one_side_is_the_same_run(desk, tmp_path):
    """Issue 4: an archive takes in what was pruned since, and a pruned journal its own backup."""
    at = desk({"a": ""}, {"a": ["done"]})
    await at.run("a.ai")
    await at.clock.advance(10)
    before, after, empty = (MemoryJournal(at.clock.monotonic) for _ in range(3))
    await import_runs(before, at.journal)
    await prune_runs(at.journal, await list_runs(at.journal), at.clock)
    await import_runs(after, at.journal)

    assert len(await texts(after)) == 1
    assert (await import_runs(before, at.journal)).known == 1
    assert (await import_runs(at.journal, before)).known == 1
    assert (await import_runs(empty, after)).runs == 1
    assert (await verify(empty)).holds
