"""Operations on runs: all of them, one of them, and how to stop one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.run_row import RunRow
from folkmoot.domain.trace import trace_url
from folkmoot.engine.claims import find_holder
from folkmoot.engine.commands import CancelRun
from folkmoot.engine.history import read_whole_history
from folkmoot.engine.replay import ReplayResult, replay_run
from folkmoot.engine.runs import find_run, list_runs, list_runs_by_status
from folkmoot.errors import BAD_VALUE, JournalDamaged, WrongUse
from folkmoot.journal.codec import to_line
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, RowPage, Spelling
from folkmoot.operations.project import OpenProject
from folkmoot.orchestration.history import RunHistory
from folkmoot.ports import Journal, Query, RunQuery
from folkmoot.views.difference import Difference, difference
from folkmoot.views.plans import Audit, PlanView, audit
from folkmoot.views.result import Result

Status = Literal["running", "queued", "waiting", "interrupted", "completed", "failed", "cancelled", "pruned"]
RunName = Annotated[
    str, Spelling(terminal="RUN", http=False, help="A run's id, the beginning of one, or `last`.")
]
PageSize = Annotated[int, Spelling(terminal=None, http=False)]
Cursor = Annotated[str, Spelling(terminal=None, http=False)]
_BY_HTTP = Spelling(terminal=None)
OF_RUN = "$response.body#/runId"


class ListRuns(Operation[RowPage[RunRow]]):
    """List all runs of the project, newest first."""

    command = "list"
    examples = ("folkmoot runs list", "folkmoot runs list --json")
    http = Http(
        method="GET",
        path="/runs",
        links=dict.fromkeys(("showRun", "runEvents", "listSessions", "cancelRun"), "$response.body#/0/runId"),
    )
    reads = True
    reads_files = False
    status: Annotated[Status | None, _BY_HTTP] = None
    """Those that are so."""
    agent: Annotated[str, _BY_HTTP] = ""
    """Of this agent, by its file or id."""
    limit: PageSize = 0
    after: Cursor = ""

    async def run(self, project: OpenProject, actor: Actor) -> RowPage[RunRow]:
        journal, before = project.journal, None
        if self.after:
            last = await journal.runs(RunQuery(runs=(self.after,)))
            if not last:
                raise WrongUse(f"`after` names {self.after!r}, and this list has no such row", code=BAD_VALUE)
            before = last[0].started_at, last[0].began
        wanted = RunQuery(agent=self.agent, before=before, limit=self.limit and self.limit + 1)
        rows = await (
            list_runs_by_status(journal, self.status, wanted) if self.status else list_runs(journal, wanted)
        )
        shown = rows[: self.limit or None]
        return RowPage(shown, shown[-1].run_id if len(rows) > len(shown) else "")

    def terminal_document(self, output: RowPage[RunRow]) -> list[RunRow]:
        return output.rows


class RunRecord(msgspec.Struct, frozen=True):
    """Everything about one run."""

    row: RunRow
    drafts: list[Draft]
    result: Result
    owner: str
    """Who runs it now; empty if nobody does."""
    damage: str = ""
    """What is wrong with its record; empty if all of it hangs together."""
    traces: str | None = None
    """Where people look at its trace; None if its project sends none."""

    @property
    def unended(self) -> str:
        """What a session of this run is that has no end."""
        return self.row.status if self.row.status in ("running", "queued", "waiting") else "interrupted"

    @property
    def bound_to(self) -> str:
        """The label of the workers that can go on with it; empty: any."""
        return RunHistory(self.drafts).label

    def document(self) -> dict[str, Any]:
        journal = {"events": len(self.drafts), "intact": not self.damage, "error": self.damage or None}
        return {
            **self.result.to_json(),
            **msgspec.to_builtins(self.row),
            "heldBy": self.owner or None,
            "boundTo": self.bound_to or None,
            "journal": journal,
            "traceId": self.result.trace,
            "traceUrl": self.traces or None,
        }


async def read_record(journal: Journal, name: str) -> RunRecord:
    """Reads the whole stream of a run, which checks each hash and each link of its chain."""
    row = await find_run(journal, name)
    drafts: list[Draft] = []
    damage = ""
    try:
        async for entry in journal.read(Query(stream=row.run_id)):
            drafts.append(entry.draft)
    except JournalDamaged as error:
        damage = str(error)
    owner = await find_holder(journal, row.run_id) if row.status == "running" else ""
    return RunRecord(row, drafts, Result(row.run_id, drafts, unended=row.status), owner, damage)


class RunDocument(msgspec.Struct, rename="camel"):
    """The result of a run so far, with its tree, what it spent and its report."""

    run_id: str
    status: str
    success: bool | None
    error: str | None
    final_report: dict[str, Any] | None
    conversation: list[Any]
    accounting: list[Any]
    totals: dict[str, Any]
    op_tree: dict[str, Any] | None
    held_by: str | None
    """The process that runs it now."""
    bound_to: str | None
    """The label of the workers that can go on with it."""
    journal: dict[str, Any]
    """How many events it has, and whether they hang together."""
    trace_id: str
    """What the run is called in OpenTelemetry, by a sink of `kind: otel`."""
    trace_url: str | None
    """Where people look at its trace, if such a sink says so."""


class ShowRun(Operation[RunRecord]):
    """Show one run: agents, turns, tools, failures, cost and report.

    Also who holds it now, and whether its record is whole; the exit code is 1 if it is not.
    """

    command = "show"
    examples = (
        "folkmoot runs show last",
        "folkmoot runs show 20260101-101500 --json",
        "folkmoot runs show last --bundle run.zip",
    )
    http = Http(
        method="GET",
        path="/runs/{id}",
        answer=RunDocument,
        links=dict.fromkeys(("runEvents", "auditRun", "runPlans", "resumeRun", "replayRun"), OF_RUN),
    )
    subject = "id"
    reads = True
    id: RunName

    async def run(self, project: OpenProject, actor: Actor) -> RunRecord:
        record, sinks = await read_record(project.journal, self.id), [*project.host.sinks()]
        sent = any(sink.kind == "otel" for sink in sinks)
        return msgspec.structs.replace(record, traces=trace_url(sinks, record.result.trace) if sent else None)

    def document(self, output: RunRecord) -> dict[str, Any]:
        return output.document()

    def exit_code(self, output: RunRecord) -> int:
        return 1 if output.damage else 0


class AuditRun(Operation[Audit]):
    """Find what cannot be traced: transfers that were not kept, actions that belong to no plan.

    The exit code is 1 if there is anything.
    """

    command = "audit"
    examples = ("folkmoot runs audit last",)
    http = Http(method="GET", path="/runs/{id}/audit")
    subject = "id"
    reads = True
    id: RunName

    async def run(self, project: OpenProject, actor: Actor) -> Audit:
        return audit((await read_record(project.journal, self.id)).drafts)

    def exit_code(self, output: Audit) -> int:
        return 1 if output.orphans else 0


class RunState(msgspec.Struct, rename="camel"):
    run_id: str
    status: str


class StopRun(Operation[RunState]):
    """Stop a run, whichever process runs it.

    Returns when the stop is acknowledged: from then on no model request and no tool call starts.
    """

    command = "cancel"
    examples = ("folkmoot runs cancel last", 'folkmoot runs cancel 20260101-101500 --reason "wrong customer"')
    http = Http(
        method="POST",
        path="/runs/{id}/cancel",
        name="cancelRun",
        problems=(409,),
        by=False,
        links={"showRun": OF_RUN},
    )
    subject = "id"
    reads_files = False
    needs_runs = True
    id: RunName
    reason: Annotated[str, Meta(max_length=2000)] = "cancelled by its user"
    """Kept with the run."""

    async def run(self, project: OpenProject, actor: Actor) -> RunState:
        id = (await find_run(project.journal, self.id)).run_id
        await project.engine.send(id, CancelRun(self.reason))
        return RunState(id, "cancelled")


class ReplayRun(Operation[ReplayResult]):
    """Let a run happen again from its journal, and compare entry by entry.

    The same program runs with the recorded answers of models, results of tools and words of people; nothing is asked,
    called or recorded. The exit code is 1 if something came out otherwise.
    """

    command = "replay"
    examples = ("folkmoot runs replay last", "folkmoot runs replay 20260101-101500 --json")
    http = Http(method="GET", path="/runs/{id}/replay", problems=(409,))
    subject = "id"
    reads = True
    id: RunName

    async def run(self, project: OpenProject, actor: Actor) -> ReplayResult:
        return await replay_run(project.journal, (await find_run(project.journal, self.id)).run_id)

    def exit_code(self, output: ReplayResult) -> int:
        return 0 if output.equal else 1


class DiffRuns(Operation[Difference]):
    """Show the first thing that two runs did otherwise, and what is not the same in the end.

    The exit code is 1 if they differ.
    """

    command = "diff"
    examples = ("folkmoot runs diff 20260101-101500 last", "folkmoot runs diff 20260101-101500 last --json")
    http = Http(method="GET", path="/runs/{id}/diff/{other}", problems=(409,))
    subject = "id"
    reads = True
    id: Annotated[str, Spelling(terminal="A", http=False)]
    """A run's id, the beginning of one, or `last`."""
    other: Annotated[str, Spelling(terminal="B", http=False)]
    """Another one."""

    async def run(self, project: OpenProject, actor: Actor) -> Difference:
        runs = [(await find_run(project.journal, name)).run_id for name in (self.id, self.other)]
        return difference(*[await read_whole_history(project.journal, run) for run in runs])

    def exit_code(self, output: Difference) -> int:
        return 0 if output.equal else 1


class ListRunPlans(Operation[list[PlanView]]):
    """What the agents of a run set out to do."""

    http = Http(method="GET", path="/runs/{id}/plans", name="runPlans", pages="")
    subject = "id"
    reads = True
    id: RunName

    async def run(self, project: OpenProject, actor: Actor) -> list[PlanView]:
        return (await read_record(project.journal, self.id)).result.plans


class EventDocument(msgspec.Struct, rename="camel"):
    """An entry of the journal, as it stands in an exported log."""

    seq: int
    id: str
    role: str
    run_seq: int
    type: str
    version: int
    ts: str
    run_id: str
    """Or the name of the record."""
    prev: str
    data: dict[str, Any]
    session_id: str | None = None
    span: str | None = None
    agent_id: str | None = None
    work_session_id: str | None = None
    conversation_id: str | None = None


def event_document(entry: Entry) -> msgspec.Raw:
    """An `EventDocument`, byte for byte as it is exported."""
    return msgspec.Raw(to_line(entry)[:-1])


OPERATIONS: tuple[OperationType, ...] = (
    ListRuns,
    ShowRun,
    AuditRun,
    StopRun,
    ReplayRun,
    DiffRuns,
    ListRunPlans,
)
