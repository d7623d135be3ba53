"""Where in a journal things stand; see D-28."""

import asyncio
import sqlite3
import time

import pytest

from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import LlmRequest, RunPruned, RunStarted
from folkmoot.domain.plan import StepStarted
from folkmoot.domain.work_session import WorkSessionLabelled
from folkmoot.errors import OperationFailed
from folkmoot.journal.index import FILE, Index
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Filter, NewRun, Version

ME = NewRun("me", 30.0)
ASKED = LlmRequest(1, 1, "scripted/x", 256, 900, 0.00001)


def started(**errand) -> RunStarted:
    return RunStarted("a.ai", "Hello", "graph", "seed", errand=Errand(**errand))


def at(minute: int, event, agent: str, **more) -> Draft:
    return Draft(f"2026-03-01T12:{minute:02}:00.000Z", event, agent_id=agent, span="0", **more)


@pytest.fixture
async def journal(tmp_path):
    journal = SqliteJournal.open(tmp_path, time.monotonic)
    await journal.append(
        "run-1",
        ME,
        [at(1, started(), "coder", work_session_id="ws_1"), at(2, ASKED, "coder", session_id="s1")],
    )
    await journal.append(
        "plan_1", Version(0), [at(3, StepStarted("plan_1", "s2"), "lead", work_session_id="ws_1")]
    )
    await journal.append(
        "run-2", ME, [at(4, started(plan="plan_1", step="s2"), "tester"), at(5, ASKED, "tester")]
    )
    yield journal
    await journal.close()


@pytest.fixture
def index(tmp_path):
    index = Index.open(tmp_path)
    yield index
    index.close()


@pytest.mark.parametrize(
    ("wanted", "minutes"),
    [
        (Filter(), [5, 4, 3, 2, 1]),
        (Filter(work_session="ws_1"), [3, 1]),
        (Filter(agent="coder"), [2, 1]),
        (Filter(session="s1"), [2]),
        (Filter(run="run-2"), [5, 4]),
        (Filter(step="s2"), [5, 4, 3]),
        (Filter(role="orchestration.task"), [3]),
        (Filter(role="conversation.main"), []),
        (Filter(types=("llm.request",)), [5, 2]),
        (Filter(types=("step.*", "run.*")), [4, 3, 1]),
        (Filter(since="2026-03-01T12:04:00.000Z"), [5, 4]),
        (Filter(until="2026-03-01T12:02"), [1]),
        (Filter(agent="tester", types=("run.*",)), [4]),
        (Filter(limit=2), [5, 4]),
        (Filter(limit=2, before=4), [3, 2]),
        (Filter(after=3), [5, 4]),
        (Filter(limit=2, after=1, oldest_first=True), [2, 3]),
        (Filter(agent="tester", oldest_first=True), [4, 5]),
    ],
)
async def test_entries_are_found_by_whatever_one_knows_of_them(journal, index, wanted, minutes):
    """D-28: index by session, agent, step, timestamp; E-9: a work session groups all roles."""
    found = await index.find(journal, wanted)

    assert [int(entry.draft.ts[14:16]) for entry in found] == minutes


async def test_what_was_written_since_is_found_too_also_after_another_has_looked(journal, index, tmp_path):
    await index.find(journal, Filter())
    await journal.append("task_1", Version(0), [at(6, ASKED, "coder")])
    other = Index.open(tmp_path)
    theirs = await other.find(journal, Filter(agent="coder"))
    other.close()

    assert len(theirs) == len(await index.find(journal, Filter(agent="coder"))) == 3


async def test_an_index_that_is_gone_or_spoiled_is_made_anew(journal, tmp_path):
    first = Index.open(tmp_path)
    before = await first.find(journal, Filter(agent="coder"))
    first.close()
    for spoiled in (b"", b"no database at all" * 100):
        (tmp_path / ".folkmoot" / FILE).write_bytes(spoiled)
        again = Index.open(tmp_path)
        assert await again.find(journal, Filter(agent="coder")) == before
        again.close()


async def test_an_index_of_another_journal_is_made_anew(journal, index, tmp_path):
    """A journal may have been put back to an older copy."""
    await index.find(journal, Filter())
    (tmp_path / "other").mkdir()
    other = SqliteJournal.open(tmp_path / "other", time.monotonic)
    await other.append("run-9", ME, [at(9, started(), "writer")] * 7)
    again = Index.open(tmp_path)

    assert [entry.stream for entry in await again.find(other, Filter())] == ["run-9"] * 7
    again.close()
    await other.close()


async def test_what_was_pruned_is_not_found_and_the_page_is_still_full(journal, index):
    await index.find(journal, Filter())
    await journal.prune("run-2", Version(2), at(7, RunPruned("a.ai", "completed", "", ""), "tester"))

    assert [int(entry.draft.ts[14:16]) for entry in await index.find(journal, Filter(limit=3))] == [7, 3, 2]


async def test_two_that_look_at_once_do_not_hinder_each_other(journal, tmp_path):
    indexes = [Index.open(tmp_path) for _ in range(5)]

    found = await asyncio.gather(*(each.find(journal, Filter()) for each in indexes))

    assert {len(each) for each in found} == {5}
    for each in indexes:
        each.close()


async def test_an_index_that_cannot_be_written_says_what_to_do(journal, index, tmp_path):
    blocker = sqlite3.connect(tmp_path / ".folkmoot" / FILE, isolation_level=None)
    blocker.execute("DROP TABLE place")

    with pytest.raises(OperationFailed, match="delete it"):
        await index.find(journal, Filter())
    blocker.close()


async def test_work_sessions_are_found_by_their_beginning_where_something_happened_last_comes_last(
    tmp_path, journal
):
    label = at(9, WorkSessionLabelled("The old one"), "eve", work_session_id="ws_1")
    await journal.append("run-3", ME, [at(6, started(), "coder", work_session_id="ws_2")])
    await journal.append("ws_1", Version(0), [label])
    index = Index.open(tmp_path)

    assert await index.work_sessions(journal) == ["ws_1", "ws_2"]
    assert await index.work_sessions(journal, "1") == ["ws_1"] == await index.work_sessions(journal, "ws_1")
    assert await index.work_sessions(journal, "3") == []
    index.close()
