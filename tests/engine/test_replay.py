"""A run happens again from its journal alone, entry by entry, whatever kind it was."""

import asyncio
import socket

import pytest
from msgspec.structs import replace

from folkmoot import MemoryJournal
from folkmoot.domain.events import LlmResponse, ToolFinished
from folkmoot.domain.message import Message
from folkmoot.engine.replay import replay_run
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.ports import NewRun, Query
from tests.golden import make
from tests.scenes import SCENES, played

GOLDEN = sorted(file.stem for file in make.FOLDER.glob("*.ndjson"))


@pytest.fixture
def offline(monkeypatch):
    """Whoever makes a socket from here on fails."""

    def refused(*_, **__):
        raise AssertionError("a socket was made")

    return lambda: monkeypatch.setattr(socket, "socket", refused)


async def drafts_of(journal, run="run-1"):
    return [entry.draft async for entry in journal.read(Query(stream=run))]


async def with_drafts(journal, drafts):
    """The same artifacts under other entries."""
    other = MemoryJournal()
    other.artifact = journal.artifact
    await other.append("run-1", NewRun("nobody", 0.0), drafts)
    return other


@pytest.mark.parametrize("scene", SCENES)
async def test_every_kind_of_run_happens_again_without_network_and_without_a_new_entry(
    scene, tmp_path, offline
):
    """C4, pains 20: the same loop, the recorded answers, and the same events in every span."""
    at = await played(scene, tmp_path)
    asked, drafts = len(at.model.heard), await drafts_of(at.journal)
    offline()
    again = await replay_run(at.journal, "run-1")

    assert again.divergence == ""
    assert (again.equal, again.events, again.recorded) == (True, len(drafts), len(drafts))
    assert again.ends == ""
    assert len(at.model.heard) == asked
    assert await drafts_of(at.journal) == drafts


@pytest.mark.parametrize("scene", SCENES)
async def test_a_run_that_has_not_ended_happens_again_as_far_as_it_got(scene, tmp_path):
    """Wherever its process died; and it says where that was."""
    at = await played(scene, tmp_path)
    drafts = await drafts_of(at.journal)
    for cut in range(1, len(drafts)):
        again = await replay_run(await with_drafts(at.journal, drafts[:cut]), "run-1")

        assert again.equal, f"cut after {cut}: {again.divergence}"
        assert again.events == cut
        assert f"after entry {cut}" in again.ends or "it waits for" in again.ends


@pytest.mark.parametrize("scene", ["patterns", "team", "calls", "clarification", "budget"])
async def test_a_run_whose_process_died_anywhere_and_that_was_resumed_happens_again_as_one(scene, tmp_path):
    """C4: several epochs leave one record."""
    at = await played(scene, tmp_path)
    drafts, whole = await drafts_of(at.journal), at.journal
    for cut in range(1, len(drafts), 3):
        at.journal = await with_drafts(whole, drafts[:cut])
        async with at.open() as moot:
            await moot.resume("run-1")
            again = await moot.replay("run-1")

        assert again.equal, f"cut after {cut}: {again.divergence}"


@pytest.mark.parametrize("scene", SCENES)
async def test_whatever_is_changed_in_a_record_is_found_and_named(scene, tmp_path):
    """One answer or result that was another one, and the run goes another way there or later."""
    at = await played(scene, tmp_path)
    drafts = await drafts_of(at.journal)
    for place, draft in enumerate(drafts):
        match draft.event:
            case LlmResponse() as event:
                other = replace(event, message=Message("assistant", "something else"))
            case ToolFinished(tool="look") as event:
                other = replace(event, evidence="ev_forged")
            case _:
                continue
        forged = [*drafts[:place], replace(draft, event=other), *drafts[place + 1 :]]
        again = await replay_run(await with_drafts(at.journal, forged), "run-1")

        assert again.divergence.startswith("at 0"), place


async def test_what_is_missing_from_a_record_is_found(tmp_path):
    at = await played("patterns", tmp_path)
    drafts = await drafts_of(at.journal)
    gone = next(n for n, draft in enumerate(drafts) if draft.event.type == "advisor.completed")
    again = await replay_run(await with_drafts(at.journal, drafts[:gone] + drafts[gone + 1 :]), "run-1")

    assert not again.equal
    assert again.divergence == (
        "at 0/advisor:law, after its last entry: now law: advisor completed, and the record has nothing more"
    )


@pytest.mark.parametrize("name", GOLDEN)
async def test_a_golden_journal_replays_for_ever(name, offline):
    """C4, DESIGN 5: for every journal of every earlier release."""
    journal = await make.opened(name)
    offline()
    again = await replay_run(journal, "run-1")

    assert again.divergence == ""
    assert again.equal


async def test_there_is_a_golden_journal_of_every_kind_and_none_is_written_again(tmp_path):
    assert set(SCENES) <= set(GOLDEN)
    assert not await make.make("patterns")
    assert await make.make("patterns", tmp_path)
    again = await replay_run(await make.opened("patterns", tmp_path), "run-1")
    assert again.equal


async def test_the_order_among_parallel_branches_does_not_matter(tmp_path):
    """Branches may interleave differently; what happens in each may not."""
    at = await played("patterns", tmp_path)
    drafts = await drafts_of(at.journal)
    law, tax = ([d for d in drafts if d.span == f"0/advisor:{name}"] for name in ("law", "tax"))
    first = drafts.index(law[0])
    rest = [draft for draft in drafts if draft not in (*law, *tax)]
    swapped = [*rest[:first], *tax, *law, *rest[first:]]
    again = await replay_run(await with_drafts(at.journal, swapped), "run-1")

    assert swapped != drafts
    assert again.equal, again.divergence
    assert again.state_hash == (await replay_run(at.journal, "run-1")).state_hash


async def test_a_run_that_cannot_be_replayed_is_refused_with_the_reason(tmp_path):
    at = await played("doubt", tmp_path)
    drafts = await drafts_of(at.journal)
    old = [replace(drafts[0], event=replace(drafts[0].event, tools="")), *drafts[1:]]
    with pytest.raises(OperationFailed, match="without what its tools are"):
        await replay_run(await with_drafts(at.journal, old), "run-1")
    with pytest.raises(WrongUse, match="there is no run 'nope'"):
        await replay_run(at.journal, "nope")


async def test_a_replay_that_is_cancelled_leaves_nothing_behind(tmp_path):
    at = await played("patterns", tmp_path)
    replaying = asyncio.ensure_future(replay_run(at.journal, "run-1"))
    for _ in range(20):
        await asyncio.sleep(0)
    replaying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replaying
    assert asyncio.all_tasks() == {asyncio.current_task()}
