"""Runs: all of them, one of them, and how to stop one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.run_row import RunRow
from folkmoot.domain.trace import trace_url
from folkmoot.engine.runs import run_list, runs_in
from folkmoot.http.api.shapes import EventDocument, RunState, event_document, require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import Refused
from folkmoot.http.requests import Given, Limit, Page, Part, Position
from folkmoot.ports import Query, RunQuery
from folkmoot.views.plans import Audit, PlanView, audit

Status = Literal["running", "queued", "waiting", "interrupted", "completed", "failed", "cancelled", "pruned"]
OF_RUN = {"id": "$response.body#/runId"}
OF_FIRST = {"id": "$response.body#/0/runId"}


class RunsQuery(Page):
    status: Status | None = None
    """Those that are so."""
    agent: str = ""
    """Of this agent, by its file or id."""


class RunEventsQuery(Given):
    limit: Limit = 100
    """At most so many."""
    after: Position = 0
    """Only those with a greater `runSeq`."""


class Cancel(Given):
    reason: Annotated[str, Meta(max_length=2000)] = "cancelled by its user"
    """Kept with the run."""


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
    trace_id: str
    """What the run is called in OpenTelemetry, by a sink of `kind: otel`."""
    trace_url: str | None
    """Where people look at its trace, if such a sink says so."""


async def list_runs(asked: Asked) -> Part:
    query: RunsQuery = asked.query
    journal, before = asked.desks.journal, None
    if query.after:
        last = await journal.runs(RunQuery(runs=(query.after,)))
        if not last:
            raise Refused(400, f"`after` names {query.after!r}, and this list has no such row")
        before = last[0].started_at, last[0].began
    wanted = RunQuery(agent=query.agent, before=before, limit=query.limit + 1)
    rows = await (runs_in(journal, query.status, wanted) if query.status else run_list(journal, wanted))
    shown = rows[: query.limit]
    return Part(shown, "after", shown[-1].run_id if len(rows) > len(shown) else "")


async def show_run(asked: Asked) -> dict[str, Any]:
    row = await require_run(asked, asked.id)
    result = await asked.moot.result(asked.id)
    listed: dict[str, Any] = msgspec.to_builtins(row)
    looked_at = trace_url(asked.moot.graph.settings.sinks.values(), result.trace) or None
    return {**result.to_json(), **listed, "traceId": result.trace, "traceUrl": looked_at}


async def cancel_run(asked: Asked) -> RunState:
    """Answers when the stop is acknowledged: from then on no model request and no tool call starts."""
    await require_run(asked, asked.id)
    await asked.moot.cancel(asked.id, asked.body.reason)
    return RunState(asked.id, "cancelled")


async def run_events(asked: Asked) -> Part:
    await require_run(asked, asked.id)
    query: RunEventsQuery = asked.query
    entries = [
        entry
        async for entry in asked.desks.journal.read(Query(stream=asked.id))
        if entry.run_seq > query.after
    ]
    shown = entries[: query.limit]
    further = str(shown[-1].run_seq) if len(shown) < len(entries) else ""
    return Part([event_document(entry) for entry in shown], "after", further)


async def audit_run(asked: Asked) -> Audit:
    await require_run(asked, asked.id)
    return audit([entry.draft async for entry in asked.moot.events(asked.id)])


async def run_plans(asked: Asked) -> list[PlanView]:
    await require_run(asked, asked.id)
    return (await asked.moot.result(asked.id)).plans


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/runs",
        summary="All runs, the newest first",
        handle=list_runs,
        query=RunsQuery,
        answer=list[RunRow],
        links={"showRun": OF_FIRST, "runEvents": OF_FIRST, "listSessions": OF_FIRST, "cancelRun": OF_FIRST},
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}",
        summary="One run: its result, tree, account and report",
        handle=show_run,
        answer=RunDocument,
        links={name: OF_RUN for name in ("runEvents", "auditRun", "runPlans", "resumeRun", "replayRun")},
    ),
    Endpoint(
        method="POST",
        path="/runs/{id}/cancel",
        summary="Stop a run, wherever it runs",
        handle=cancel_run,
        body=Cancel,
        answer=RunState,
        problems=(409,),
        links={"showRun": OF_RUN},
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/events",
        summary="What happened in a run, in order",
        handle=run_events,
        query=RunEventsQuery,
        answer=list[EventDocument],
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/audit",
        summary="What of a run cannot be traced",
        handle=audit_run,
        answer=Audit,
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/plans",
        summary="What the agents of a run set out to do",
        handle=run_plans,
        answer=list[PlanView],
    ),
)
