"""The one writer of a run's events."""

import asyncio
import gc
import warnings

import pytest

from folkmoot import FakeClock, MemoryJournal, tool
from folkmoot.domain.call_events import AdvisorStarted
from folkmoot.domain.events import RunCancelled
from folkmoot.errors import Conflict, StaleOwner
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.ports import Epoch, NewRun, Query

HERE = Place("0", "run-1", "desk")


class SlowJournal(MemoryJournal):
    """Nothing is durable before somebody lets it be."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def append(self, stream, expected, drafts):
        durable = asyncio.get_running_loop().create_future()
        self.batches.append(([draft.event for draft in drafts], durable))
        return durable


async def until_written(journal, type):
    """Ends only if an event of this type becomes durable; the run itself is stuck by then."""
    async with asyncio.timeout(60):
        async for entry in journal.follow():
            if entry.event.type == type:
                assert entry.stream == "run-1"
                return


def log_on(journal, expected=NewRun("me", 30.0)):
    return RunLog(journal, FakeClock(), "run-1", expected)


async def test_what_is_noted_is_written_together_by_the_next_flush():
    journal = SlowJournal()
    log = log_on(journal, Epoch(1))
    log.note(HERE, AdvisorStarted("a"))
    log.note(HERE, AdvisorStarted("b"))
    log.flush()
    log.flush()
    log.note(HERE, AdvisorStarted("c"))
    log.flush()

    assert [[event.advisor for event in events] for events, _ in journal.batches] == [["a", "b"], ["c"]]


async def test_nothing_is_written_after_a_creation_that_may_still_be_refused():
    """Otherwise it would end up in the run that has the name already."""
    journal = SlowJournal()
    log = log_on(journal)
    log.note(HERE, AdvisorStarted("a"))
    first = asyncio.ensure_future(log.settle())
    await asyncio.sleep(0)
    log.note(HERE, AdvisorStarted("b"))
    second = asyncio.ensure_future(log.settle())
    await asyncio.sleep(0)
    assert len(journal.batches) == 1

    journal.batches[0][1].set_exception(Conflict("taken"))
    for waiting in (first, second):
        with pytest.raises(Conflict):
            await waiting
    assert len(journal.batches) == 1


async def test_settling_waits_until_everything_noted_is_durable():
    journal = SlowJournal()
    log = log_on(journal)
    log.note(HERE, AdvisorStarted("a"))
    settled = asyncio.ensure_future(log.settle())
    await asyncio.sleep(0)
    assert not settled.done()

    journal.batches[0][1].set_result([])
    await settled


async def test_cancelling_one_who_waits_leaves_the_others_waiting():
    journal = SlowJournal()
    log = log_on(journal)
    log.note(HERE, AdvisorStarted("a"))
    one, other = asyncio.ensure_future(log.settle()), asyncio.ensure_future(log.settle())
    await asyncio.sleep(0)
    one.cancel()
    await asyncio.sleep(0)
    journal.batches[0][1].set_result([])

    await other
    assert one.cancelled()


async def test_an_owner_that_lost_its_run_learns_it_before_it_acts():
    journal = MemoryJournal()
    mine = log_on(journal)
    mine.note(HERE, AdvisorStarted("a"))
    await mine.settle()
    claim = await journal.claim("run-1", "other", 30.0, after="me")
    theirs = log_on(journal, Epoch(claim.epoch))
    theirs.note(HERE, AdvisorStarted("b"))
    await theirs.settle()

    mine.note(HERE, RunCancelled("too late"))
    with pytest.raises(StaleOwner):
        await mine.settle()
    kept = [entry.event async for entry in journal.read(Query(stream="run-1"))]
    assert kept == [AdvisorStarted("a"), AdvisorStarted("b")]


async def test_what_an_earlier_activation_noted_is_not_noted_again():
    journal = MemoryJournal()
    first = log_on(journal)
    first.note(HERE, AdvisorStarted("a"))
    await first.settle()
    past = [entry.draft async for entry in journal.read(Query())]
    again = RunLog(journal, FakeClock(), "run-1", Epoch(1), past)
    again.once(HERE, AdvisorStarted("a"))
    again.once(HERE, AdvisorStarted("b"))
    await again.settle()

    assert [draft.event.advisor for draft in again.drafts] == ["a", "b"]


async def test_no_model_is_asked_and_no_tool_called_before_the_intent_is_durable(desk):
    """DESIGN 4: `settle` stands before every act."""
    touched = []

    def look(where: str) -> str:
        touched.append(where)
        return "a tree"

    call = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
    at = desk({"a": "tools: [look]"}, {"a": [call, "done"]}, tools=[look])
    at.journal = journal = SlowJournal()
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a.ai", "hi"))
        seen = []
        while not running.done():
            await asyncio.sleep(0)
            for events, durable in journal.batches:
                if not durable.done():
                    seen.append(([event.type for event in events], len(at.model.heard), len(touched)))
                    durable.set_result([])

    assert seen == [
        (["run.started", "session.started", "llm.request"], 0, 0),
        (["llm.response", "tool.started"], 1, 0),
        (["tool.finished", "llm.request"], 1, 1),
        (["llm.response", "session.completed", "run.completed"], 2, 1),
    ]


async def test_a_call_that_is_declared_pure_is_written_with_what_follows_it(desk):
    """A repetition does no harm, so nobody waits for its record; the model is asked only after it is durable."""
    touched = []

    @tool(effect="pure", access="read")
    async def look() -> str:
        """Look."""
        touched.append(len(journal.batches))
        return "a tree"

    at = desk({"a": "tools: [look]"}, {"a": [{"calls": [{"tool": "look"}]}, "done"]}, tools=[look])
    at.journal = journal = SlowJournal()
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a.ai", "hi"))
        while not running.done():
            await asyncio.sleep(0)
            for _, durable in journal.batches:
                if not durable.done():
                    durable.set_result([])

    assert touched == [1]
    assert [event.type for event in journal.batches[1][0]] == [
        "llm.response",
        "tool.started",
        "tool.finished",
        "llm.request",
    ]


async def test_what_one_branch_noted_is_written_while_another_goes_on(desk):
    """Nothing that happened lies about unwritten: a crash now would lose neither answer nor result."""
    slow = {"delay": "1h", "text": "late"}
    at = desk({"a": "advisors: [b.ai, c.ai]", "b": "", "c": ""}, {"a": ["ok"], "b": ["quick"], "c": [slow]})
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await until_written(at.journal, "advisor.completed")
        running.cancel()


async def test_a_failed_attempt_is_written_before_the_pause_that_follows_it(desk):
    script = {"a": [{"attempts": [{"error": {"message": "busy", "retryAfter": "20s"}}, "hi"]}]}
    at = desk({"a": ""}, script)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await until_written(at.journal, "llm.failed")
        running.cancel()


async def test_the_result_of_one_call_is_written_while_another_is_under_way(desk):
    at = desk({"a": "tools: [quick, slow]"}, {"a": [{"calls": [{"tool": "quick"}, {"tool": "slow"}]}, "ok"]})

    async def quick() -> str:
        return "done"

    async def slow() -> str:
        await at.clock.sleep(3600)
        return "late"

    at.tools = [quick, slow]
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await until_written(at.journal, "tool.finished")
        running.cancel()


async def test_branches_that_are_cancelled_before_they_began_leave_nothing_behind():
    """C5: not even the warning that somebody forgot to await them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # what others left behind is not told of here
    began = []

    async def branch():
        began.append(True)

    running = asyncio.ensure_future(log_on(MemoryJournal()).together([branch(), branch()]))
    asyncio.get_running_loop().call_soon(running.cancel)

    with pytest.raises(asyncio.CancelledError):
        await running
    gc.collect()
    assert began == []


async def test_what_branches_note_in_one_moment_is_written_as_one():
    """S8: each of them acts only when all of it is durable."""
    journal = SlowJournal()
    log, acted = log_on(journal, Epoch(1)), []

    async def branch(name):
        log.note(HERE, AdvisorStarted(name))
        await log.settle()
        acted.append(name)

    running = asyncio.ensure_future(log.together(map(branch, "abc")))
    for _ in range(5):
        await asyncio.sleep(0)

    [(written, durable)] = journal.batches
    assert [event.advisor for event in written] == ["a", "b", "c"]
    assert acted == []

    durable.set_result([])
    await running
    assert sorted(acted) == ["a", "b", "c"]
