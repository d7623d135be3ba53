"""What the read model of every journal must do: a suite beside `contract`, run against each backend."""

from pathlib import Path
from random import Random

import pytest

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    LlmFailed,
    LlmResponse,
    RunCompleted,
    RunFailed,
    RunForked,
    RunParked,
    RunStarted,
    SessionStarted,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalRequested, QuestionAnswered, QuestionAsked
from folkmoot.domain.message import Message, Usage
from folkmoot.domain.plan import Plan, PlanCreated, PlanSubmitted
from folkmoot.domain.records import RecordSources
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.task import (
    Completed,
    Task,
    TaskBacklogAdded,
    TaskCompleted,
    TaskResumed,
    TaskStarted,
    TaskStatus,
    TaskUpdated,
)
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.engine.runs import list_waiting_first
from folkmoot.journal.codec import stored_line
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import (
    Epoch,
    ItemQuery,
    Journal,
    NewRun,
    Query,
    RecordQuery,
    RunQuery,
    SpendQuery,
    Version,
)
from tests.journal.contract import ME, PRUNED

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.ndjson"))
STARTED = RunStarted("a.ai", "Hello\0 World", "graph", "seed")
ENDED = RunCompleted(Outcome("a", "0", report=Report(content="Done")))
PAID = LlmResponse(1, 1, "m/x", Message("assistant", "hi"), Usage(10, 5), 0.25)
STARTED_CALL = ToolStarted(1, 1, "pay", {}, "once", "write", "key", "allowed")
ASKED = QuestionAsked("q-1", "Which?", 1, 1)


def draft(event, second=0, **more) -> Draft:
    return Draft(f"2026-03-01T12:00:{second:02}.000Z", event, span="0", agent_id="a", **more)


async def rows(journal: Journal):
    spend = await journal.spend(SpendQuery(by="run"))
    records = await journal.records(RecordQuery())
    return await journal.runs(RunQuery()), await journal.items(ItemQuery()), spend, records


async def rebuilt(journal: Journal):
    await journal.rebuild()
    return await rows(journal)


class ReadModelContract:
    async def test_a_row_follows_a_run_from_its_start_over_a_pause_to_its_end(self, journal):
        await journal.append("run-1", ME, [draft(STARTED), draft(SessionStarted("a.ai", "hi"), 1)])
        (begun,) = await journal.runs(RunQuery())
        await journal.append(
            "run-1", Epoch(1), [draft(PAID, 2), draft(ASKED, 3), draft(RunParked(("q-1",)), 4)]
        )
        (parked,) = await journal.runs(RunQuery(statuses=("waiting",)))
        (item,) = await journal.items(ItemQuery(status="open"))
        await journal.append("run-1", Epoch(1), [draft(QuestionAnswered("q-1", "this"), 5)])
        assert await journal.runs(RunQuery(statuses=("waiting",))) == []
        await journal.append("run-1", Epoch(1), [draft(ENDED, 6)])
        (ended,) = await journal.runs(RunQuery())

        assert (begun.status, begun.request, begun.chain) == ("", "Hello\0 World", ("a",))
        assert (parked.tokens, parked.cost, parked.seconds) == (15, 0.25, 4.0)
        assert (item.id, item.run, item.question) == ("q-1", "run-1", "Which?")
        assert (ended.status, ended.ended_at) == ("completed", "2026-03-01T12:00:06.000Z")
        assert (await journal.items(ItemQuery(id="q-1")))[0].status == "answered"
        assert await rows(journal) == await rebuilt(journal)

    async def test_runs_are_listed_by_filter_order_and_page(self, journal):
        for number, agent in enumerate(("a.ai", "b.ai", "a.ai", "a.ai")):
            started = RunStarted(agent, f"Report ß_{number}", "graph", "seed")
            await journal.append(f"run-{number}", NewRun("me", 30.0), [draft(started, number)])
        await journal.append("run-1", Epoch(1), [draft(RunParked(()), 9)])
        await journal.append(
            "run-2", Epoch(1), [draft(PAID, 9), draft(RunFailed("no luck", "SYSTEM_ERROR"), 9)]
        )

        async def names(**query) -> list[str]:
            return [run.run[-1] for run in await journal.runs(RunQuery(**query))]

        assert await names() == ["3", "2", "1", "0"]
        assert await names(limit=2, offset=1) == ["2", "1"]
        (_, third, *_) = await journal.runs(RunQuery())
        assert await names(before=(third.started_at, third.began)) == ["1", "0"]
        assert await names(sort="started", agents=("a.ai",)) == ["0", "2", "3"]
        assert await names(sort="-cost", limit=1) == ["2"]
        pages = [await list_waiting_first(journal, RunQuery(limit=2, offset=offset)) for offset in (0, 2)]
        assert [run.run[-1] for page in pages for run in page] == ["1", "3", "2", "0"]
        assert await names(words=("report", "ß_3")) == ["3"]
        assert await names(words=("luck",)) == ["2"]
        assert await names(runs=("run-0", "run-9")) == ["0"]
        assert await names(runs=()) == []
        assert await names(prefix="run-") == ["3", "2", "1", "0"]
        assert await names(since="2026-03-01T12:00:02.000Z") == ["3", "2"]
        assert await journal.count_runs(RunQuery(agents=("a.ai",), limit=1)) == 3
        assert await journal.count_runs(RunQuery(words=("report",))) == 4

    async def test_spending_is_summed_by_agent_model_day_and_run_as_wanted(self, journal):
        for run, day, model, cost in (
            *(("r1", 1, "p/m", 1.0), ("r1", 2, "p/big", 2.0)),
            *(("r2", 2, "p/m", 4.0), ("r2", 2, "p/m", 0.0)),
        ):
            paid = LlmResponse(1, 1, model, Message("assistant", ""), Usage(3, 2, 1), cost)
            event = paid if cost else LlmFailed(1, 2, model, "busy", retryable=True)
            place = [entry async for entry in journal.read(Query(stream=run))]
            begun = [] if place else [Draft("2026-03-01T10:00:00.000Z", STARTED, work_session_id=f"ws_{run}")]
            draft = Draft(f"2026-03-0{day}T10:00:00.000Z", event, f"{run}:1", "0", "desk")
            await journal.append(run, Version(len(place)), [*begun, draft])

        async def sums(**query):
            return {each.name: each.cost for each in await journal.spend(SpendQuery(**query))}

        assert await sums() == {"": 7.0}
        assert await sums(by="agent") == {"desk": 7.0}
        assert await sums(by="model") == {"p/m": 5.0, "p/big": 2.0}
        assert await sums(by="day") == {"2026-03-01": 1.0, "2026-03-02": 6.0}
        assert await sums(by="run", since="2026-03-02") == {"r1": 2.0, "r2": 4.0}
        assert await sums(work_session="ws_r1") == {"": 3.0}
        assert await sums(runs=("r2",), until="2026-03-02T10:00:00.001Z") == {"": 4.0}
        assert await sums(runs=("nobody",)) == {}
        (second,) = await journal.spend(SpendQuery(runs=("r2",)))
        assert (second.requests, second.failed, second.tokens, second.cache_read) == (2, 1, 5, 1)
        assert second.sessions == 1

    async def test_a_fork_does_not_pay_again_for_what_it_was_taken_from(self, journal):
        await journal.append("run-1", ME, [draft(STARTED), draft(PAID, 10)])
        await rows(journal)
        await journal.append("run-1", Epoch(1), [draft(RunForked("another", 2), 40), draft(PAID, 45)])

        (run,) = await journal.runs(RunQuery())

        assert [each.cost for each in await journal.spend(SpendQuery())] == [0.25] == [run.cost]
        assert run.started_at == "2026-03-01T12:00:40.000Z"
        assert await journal.group_runs(RunQuery(), ("status", "tokens")) == [("", 15, 1)]

    async def test_of_a_pruned_run_only_the_row_of_its_tombstone_stays(self, journal):
        await journal.append("run-1", ME, [draft(STARTED), draft(PAID), draft(ASKED), draft(ENDED)])
        await rows(journal)
        await journal.prune("run-1", Version(4), draft(PRUNED))

        (run,), items, spend, _ = await rows(journal)

        assert (run.status, run.request, items, spend) == ("pruned", "", [], [])
        assert await rebuilt(journal) == ([run], [], [], [])

    @pytest.mark.parametrize("seed", range(4))
    async def test_rows_are_the_same_whenever_they_are_read_and_however_they_are_made(self, journal, seed):
        random, places = Random(seed), dict[str, int]()
        for _ in range(60):
            await write(journal, random, places, 1)
            if random.random() < 0.3:
                await rows(journal)

        assert await rows(journal) == await rebuilt(journal)

    async def test_a_row_follows_a_record_and_is_found_by_kind_agent_status_and_beginning(self, journal):
        await journal.append("task_1", Version(0), [draft(TaskStarted(task("task_1")), 1)])
        await journal.append(
            "task_2", Version(0), [draft(TaskBacklogAdded(task("task_2", "backlog", "b")), 2)]
        )
        await journal.append(
            "plan_1", Version(0), [draft(PlanCreated(Plan("plan_1", "a", "Go\n on", ())), 3)]
        )
        await journal.append("plan_1", Version(1), [draft(PlanSubmitted("plan_1"), 4)])
        await journal.append(
            "ws_1", Version(0), [draft(WorkSessionOpened("Clean up"), 5, work_session_id="ws_1")]
        )
        await journal.append("note_1", Version(0), [draft(ENDED, 6)])
        await journal.append("task_1", Version(1), [draft(TaskCompleted("completed", Completed()), 7)])

        async def names(**query) -> list[str]:
            return [row.id for row in await journal.records(RecordQuery(**query))]

        first, _, plan, work, note = await journal.records(RecordQuery())
        assert (first.status, first.version, first.position, first.updated_at[17:19]) == (
            "completed",
            2,
            7,
            "07",
        )
        assert (plan.kind, plan.agent, plan.status, plan.title) == ("plan", "a", "submitted", "Go on")
        assert (work.status, work.work_session, work.title) == ("Initialized", "ws_1", "Clean up")
        assert (note.kind, note.status, note.version) == ("note", "", 1)
        assert await names(kind="task") == ["task_1", "task_2"]
        assert await names(kind="task", last=True) == ["task_2"]
        assert await names(kind="task", agent="b") == ["task_2"] == await names(prefix="task_2")
        assert await names(kind="task", statuses=("completed",)) == ["task_1"]
        assert await names(kind="task", work_session="ws_t") == ["task_1", "task_2"]
        assert await rows(journal) == await rebuilt(journal)

    async def test_a_record_that_no_fold_understands_has_a_row_that_every_list_shows(self, journal):
        await journal.append("task_1", Version(0), [draft(TaskCompleted("completed", Completed()))])

        (row,) = await journal.records(RecordQuery("task", agent="a", statuses=("blocked",)))

        assert (row.id, row.status) == ("task_1", "")

    @pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
    async def test_a_golden_journal_has_the_same_rows_entry_by_entry_and_rebuilt(self, journal, file):
        lines = [stored_line(line) for line in file.read_bytes().splitlines()]
        await journal.restore(lines[0].stream, lines)
        at_once = await rows(journal)
        assert at_once == await rebuilt(journal)
        step_by_step = MemoryJournal()
        for number, entry in enumerate([entry async for entry in journal.read(Query())]):
            await step_by_step.append(entry.stream, Version(number), [entry.draft])
            await rows(step_by_step)

        assert await rows(step_by_step) == at_once


async def write(journal: Journal, random: Random, places: dict[str, int], count: int) -> None:
    """Some random entries of runs and of tasks."""
    for _ in range(count):
        stream, events = f"run-{random.randrange(5)}", random_events
        if random.random() < 0.3:
            stream, events = f"task_{random.randrange(3)}", random_changes
        place = places.get(stream, 0)
        drafts = [draft(event, random.randrange(60)) for event in events(random, place)]
        await journal.append(stream, Version(place), drafts)
        places[stream] = place + len(drafts)


def task(id: str, status: TaskStatus = "in_progress", agent: str = "a") -> Task:
    return Task(id, agent, "Do it", status, "2026-03-01T12:00:00.000Z", "eve", work_session_id="ws_t")


def random_changes(random: Random, place: int):
    """Some events that a task may have; after the first also such as no task understands."""
    if not place:
        return [TaskStarted(task("task"))]
    changes = (TaskUpdated("in_progress", "on it"), TaskResumed("in_progress"), RecordSources(()), ENDED)
    return [random.choice((*changes, TaskCompleted("completed", Completed())))]


def random_events(random: Random, place: int):
    """Some events that a run may have, in no sensible order but for the first."""
    if not place:
        return [STARTED]
    id = f"q-{random.randrange(3)}"
    asked = ApprovalRequested(id, 1, 1, "pay", {}, "hash", "medium")
    events = (
        *(SessionStarted("a.ai", "hi"), PAID, LlmFailed(1, 1, "m/x", "no", False), RunParked((id,)), ENDED),
        *(QuestionAsked(id, "Which?", 1, 2), QuestionAnswered(id, "this"), asked, ApprovalApproved(id)),
        *(STARTED_CALL, ToolFinished(1, 1, "pay", "ok", "ev-1"), ToolInDoubt(1, 1, "pay")),
        RunFailed("no", "SYSTEM_ERROR"),
    )
    return [random.choice(events) for _ in range(random.randrange(1, 5))]
