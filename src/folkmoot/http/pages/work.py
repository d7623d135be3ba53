"""Work sessions: all of them, and one with its state, its plans, its timeline and what came of it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.category import LABELS
from folkmoot.domain.collaboration_events import WorkSessionAsked
from folkmoot.domain.work_session import WorkSession
from folkmoot.errors import NotFound
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, find_form, form_of, perform_form, posted
from folkmoot.http.pages.rendering import page
from folkmoot.http.paging import Page, part
from folkmoot.operations.work_sessions import OPERATIONS
from folkmoot.ports import Query, RecordQuery, RunQuery
from folkmoot.views.threads import GROUPS
from folkmoot.views.work_sessions import WorkRow

PAGE = 60
"""Work sessions at once."""


async def work_sessions(request: Request) -> Response:
    return await listed(request)


async def listed(request: Request, problem: str = "") -> Response:
    """`problem` is what became of a form in it."""
    house, query = house_of(request), request.query_params
    category, text = query.get("category", ""), query.get("q", "")
    fitting = (
        row
        for row in await house.records.work_rows()
        if category in ("", row.category)
        and text.casefold() in f"{row.title} {row.subtitle} {row.id}".casefold()
    )
    found = part(fitting, Page(limit=PAGE, after=query.get("after", "")), lambda row: row.id)
    return page(
        request,
        "work_list.html",
        screen="work-sessions",
        title="Work sessions",
        groups=[(name, [row for row in found.rows if row.status == key]) for key, name in GROUPS.items()],
        is_whole=not found.value and "after" not in query,
        further=str(request.url.include_query_params(after=found.value).query) if found.value else "",
        categories=sorted({*house.folds.work.categories().values()}),
        category=category,
        text=text,
        problem=problem,
        LABELS=LABELS,
    )


async def work_session(request: Request) -> Response:
    return await shown(request)


async def shown(request: Request, problem: str = "") -> Response:
    """`problem` is what became of a form in it."""
    house = house_of(request)
    row = await house.find_work(request.path_params["id"])
    kind = request.query_params.get("kind", "")
    timeline = await house.records.timeline(row)
    return page(
        request,
        "work.html",
        screen="work-sessions",
        title=row.title,
        row=row,
        kinds=list(dict.fromkeys(line.kind for line in timeline)),
        kind=kind,
        timeline=[line for line in timeline if kind in ("", line.kind)],
        problem=problem,
        LABELS=LABELS,
        **await _kept(house, row),
    )


async def _kept(house: House, row: WorkRow) -> dict[str, Any]:
    """The records that belong to it."""
    moot, here = house.moot.moot, RecordQuery(work_session=row.id)
    asked = moot.journal.read(Query(stream=row.id, types=(WorkSessionAsked.type,), limit=1))
    runs = {run.run_id: run for run in await house.moot.runs(RunQuery(runs=row.runs))}
    return {
        "record": await moot.work_sessions.find(row.id) or WorkSession(row.id),
        "plans": [*(await moot.plans.keeper.select(here)).values()],
        "tasks": [*(await moot.tasks.keeper.select(here)).values()],
        "decisions": [*(await moot.decisions.keeper.select(here)).values()],
        "runs": [runs[run] for run in row.runs if run in runs],
        "is_collaboration": bool([entry async for entry in asked]),
        "agents": {agent.id for agent in house.moot.graph.agents.values()},
    }


async def artifact(request: Request) -> Response:
    """As text, whatever it holds: nothing of it is run."""
    house, id = house_of(request), request.path_params["id"]
    record = await house.moot.moot.work_sessions.get(id)
    named = request.path_params["artifact"]
    kept = {each.artifact for each in record.artifacts} | {each.artifact for each in record.snapshots}
    if named not in kept:
        raise NotFound(f"there is no artifact {named!r} in {id}", code="artifact_not_found")
    content = await house.moot.moot.journal.artifact(named)
    return Response(content, media_type="text/plain; charset=utf-8")


async def change(request: Request) -> Response:
    form = await form_of(request)
    id, deed = request.path_params["id"], request.path_params["deed"]
    return await posted(_changed(house_of(request), id, deed, form), lambda problem: shown(request, problem))


async def _changed(house: House, id: str, deed: str, form: Form) -> str:
    await perform_form(find_form(deed, OPERATIONS), house, form, work=id)
    return f"/work-sessions/{id}"


ROUTES = (
    Route("/work-sessions", work_sessions, name="work"),
    Route("/work-sessions/{id}", work_session),
    Route("/work-sessions/{id}/artifacts/{artifact}", artifact),
    Route("/work-sessions/{id}/{deed}", change, methods=["POST"]),
)
