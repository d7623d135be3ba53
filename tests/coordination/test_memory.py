"""What agents note outlives the run, and is read by those whom their files name."""

import pytest

from folkmoot import Folkmoot, MemoryJournal, Surroundings
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.replay import replay_run
from folkmoot.ports import Query, Version
from tests.desk import SETTINGS

FILES = {
    "ann": "tools: [memory]\nmemory: {readers: [bob]}",
    "bob": "tools: [memory]",
    "cid": "tools: [memory_read]",
    "dan": 'tools: [memory]\nmemory: {readers: ["*"]}',
}


def note(text="the key is under the mat"):
    return {"calls": [{"tool": "memory_note", "arguments": {"text": text}}]}


def read(agent=""):
    return {"calls": [{"tool": "memory_read", "arguments": {"agent": agent} if agent else {}}]}


async def told(desk, reader, agent):
    """What a reader's model reads after `ann` and `dan` have noted something."""
    at = desk(
        FILES, {"ann": [note(), "ok"], "dan": [note("dan was here"), "ok"], reader: [read(agent), "ok"]}
    )
    for number, writer in enumerate(("ann", "dan"), start=2):
        at.identity = RunIdentity(f"run-{number}", "seed")
        if writer != reader:
            await at.run(writer)
    at.identity = RunIdentity("run-1", "seed")
    played = await at.run(reader)
    return next(one.text for one in played.model.heard[-1].messages if one.role == "tool")


@pytest.mark.parametrize(
    ("reader", "agent", "says"),
    [
        ("bob", "ann", "- 2026-01-01T00:00:00.000Z: the key is under the mat"),
        ("cid", "dan", "- 2026-01-01T00:00:00.000Z: dan was here"),
        ("bob", "", "bob has noted nothing yet"),
        ("cid", "ann", "'cid' may not read the memory of 'ann': `memory.readers` in ann.ai must name it"),
        ("ann", "bob", "'ann' may not read the memory of 'bob': `memory.readers` in bob.ai must name it"),
        ("cid", "eve", "there is no agent 'eve'; there are: ann, bob, cid, dan"),
    ],
)
async def test_a_memory_is_read_by_its_agent_and_by_those_whom_its_file_names(desk, reader, agent, says):
    """E-56."""
    assert says in await told(desk, reader, agent)


async def test_notes_are_read_newest_first_in_later_runs_and_each_is_one_event(desk):
    """E-56: they outlive the run."""
    at = desk(FILES, {"ann": [note("one"), note("two"), "ok"]})
    first = await at.run("ann")
    later = desk(FILES, {"ann": [read(), "ok"]})
    later.journal, later.identity = at.journal, RunIdentity("run-2", "seed")
    played = await later.run("ann")

    assert [line[-3:] for line in played.model.heard[-1].messages[-1].text.splitlines()] == ["two", "one"]
    noted = [entry.draft async for entry in at.journal.read(Query(stream="memory_ann"))]
    assert [(draft.event.type, draft.event.text, draft.agent_id) for draft in noted] == [
        ("memory.noted", "one", "ann"),
        ("memory.noted", "two", "ann"),
    ]
    assert {draft.work_session_id for draft in noted} == {first.drafts[0].work_session_id}


@pytest.mark.parametrize(
    ("text", "says"), [(" ", "there is nothing to note"), ("x" * 4001, "at most 4000 characters")]
)
async def test_what_cannot_be_noted_is_refused(desk, text, says):
    played = await desk(FILES, {"ann": [note(text), "ok"]}).run("ann")

    assert says in played.model.heard[-1].messages[-1].text


async def test_a_note_whose_process_died_is_not_noted_twice(desk):
    """DESIGN, effects: keyed. The call is made again and finds what it did."""
    at = desk(FILES, {"ann": [note(), "ok"]})
    played = await at.run("ann")
    kept = [entry.draft async for entry in at.journal.read(Query(stream="memory_ann"))]
    again = desk(FILES, {"ann": [note(), "ok"]})
    journal = MemoryJournal(again.clock.monotonic)
    await journal.append("memory_ann", Version(0), kept)
    cut = played.types.index("tool.started") + 1
    await again.continued(played.drafts[:cut], journal=journal)

    assert [entry.draft async for entry in journal.read(Query(stream="memory_ann"))] == kept
    assert (await replay_run(journal, "run-1")).equal


async def test_a_secret_stays_a_name_in_what_outlives_the_run(desk):
    """Secrets appear in no event, also of other streams."""
    at = desk(FILES, {"ann": [note("{{secret:KEY}}"), "ok"]}, settings=SETTINGS + "secrets: [KEY]\n")
    around = Surroundings(env={"KEY": "s3cret-value"}, clock=at.clock, journal=at.journal)
    async with Folkmoot.open(at.folder, models={"scripted": at.model}, around=around) as moot:
        await moot.run("ann", "hello")

    [noted] = [entry.draft.event async for entry in at.journal.read(Query(stream="memory_ann"))]
    assert noted.text == "{{secret:KEY}}"
