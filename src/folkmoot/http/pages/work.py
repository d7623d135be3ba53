"""Work sessions: all of them, and one with its state, plans, timeline and what came of it; the team; and what people
have agents do: reach a goal as a team, carry it on, carry out the step of a plan."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.coordination.record_store import Author
from folkmoot.domain.work_session import WorkSession, WorkSessionAsked, WorkSessionOpened
from folkmoot.engine.claims import draw_id_seed
from folkmoot.engine.collaboration import begin_step_run, build_seats, open_collaboration
from folkmoot.errors import NotFound
from folkmoot.http.pages.rendering import (
    PageForm,
    author_name,
    find_form,
    form_route,
    perform_form,
    render_page,
)
from folkmoot.http.requests import PageQuery, paginate_rows
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.operations.work_sessions import OPERATIONS
from folkmoot.ports import Filter, Query, RecordQuery, RunQuery
from folkmoot.views.conversations import GROUPS
from folkmoot.views.team import HEALTH, teammates
from folkmoot.views.timeline import work_timeline
from folkmoot.views.work_sessions import WorkRow

PAGE = 60
"""Work sessions at once."""


async def work_sessions(request: Request) -> Response:
    house, query = get_server_state(request), request.query_params
    category, text = query.get("category", ""), query.get("q", "")
    fitting = (
        row
        for row in await house.folds.work_rows()
        if category in ("", row.category)
        and text.casefold() in f"{row.title} {row.subtitle} {row.id}".casefold()
    )
    found = paginate_rows(fitting, PageQuery(limit=PAGE, after=query.get("after", "")), lambda row: row.id)
    return render_page(
        request,
        "work_list.html",
        groups=[(name, [row for row in found.rows if row.status == key]) for key, name in GROUPS.items()],
        is_whole=not found.value and "after" not in query,
        further=str(request.url.include_query_params(after=found.value).query) if found.value else "",
        categories=sorted({*house.folds.work.categories().values()}),
        category=category,
        text=text,
    )


async def work_session(request: Request) -> Response:
    house = get_server_state(request)
    row = await house.find_work(request.path_params["id"])
    kind = request.query_params.get("kind", "")
    happened = await house.moot.find(Filter(work_session=row.id, limit=row.events))
    timeline = work_timeline(row.id, happened)
    return render_page(
        request,
        "work.html",
        row=row,
        kinds=list(dict.fromkeys(line.kind for line in timeline)),
        kind=kind,
        timeline=[line for line in timeline if kind in ("", line.kind)],
        **await _read_records(house, row),
    )


async def _read_records(house: ServerState, row: WorkRow) -> dict[str, Any]:
    """Those that belong to it."""
    moot, here = house.moot.moot, RecordQuery(work_session=row.id)
    asked = moot.journal.read(Query(stream=row.id, types=(WorkSessionAsked.type,), limit=1))
    runs = {run.run_id: run for run in await house.moot.runs(RunQuery(runs=row.runs))}
    return {
        "record": await moot.work_sessions.look_up(row.id) or WorkSession(row.id),
        "plans": [*(await moot.plans.select(here)).values()],
        "tasks": [*(await moot.tasks.select(here)).values()],
        "decisions": [*(await moot.decisions.select(here)).values()],
        "runs": [runs[run] for run in row.runs if run in runs],
        "is_collaboration": bool([entry async for entry in asked]),
        "agents": {agent.id for agent in house.moot.graph.agents.values()},
    }


async def show_artifact(request: Request) -> Response:
    """As text, whatever it holds: nothing of it is run."""
    moot, id = get_server_state(request).moot.moot, request.path_params["id"]
    record, named = await moot.work_sessions.get(id), request.path_params["artifact"]
    stored = {each.artifact for each in record.artifacts} | {each.artifact for each in record.snapshots}
    if named not in stored:
        raise NotFound(f"there is no artifact {named!r} in {id}", code="artifact_not_found")
    return Response(await moot.journal.artifact(named), media_type="text/plain; charset=utf-8")


async def change_work_session(request: Request, form: PageForm) -> str:
    id, operation = request.path_params["id"], find_form(request.path_params["deed"], OPERATIONS)
    await perform_form(operation, get_server_state(request), form, work=id)
    return f"/work-sessions/{id}"


async def collaborate(request: Request, form: PageForm) -> str:
    moot, opening = get_server_state(request).moot, WorkSessionOpened(form["goal"])
    work = await open_collaboration(
        moot.moot, opening, build_seats(moot.graph, ()), draw_id_seed(), Author(author_name(form))
    )
    return await _begin_collaboration(request, work.id, form)


async def resume_collaboration(request: Request, form: PageForm) -> str:
    return await _begin_collaboration(request, request.path_params["id"], form)


async def _begin_collaboration(request: Request, id: str, form: PageForm) -> str:
    await get_server_state(request).carrying.begin(id, Author(author_name(form)))
    return f"/work-sessions/{id}"


async def run_step(request: Request, form: PageForm) -> str:
    house, named = get_server_state(request), request.path_params
    wanted = await begin_step_run(house.moot.moot, named["plan"], named["step"], Author(author_name(form)))
    return f"/runs/{await house.room.begin(wanted.owner, wanted.request, wanted.errand)}"


async def team(request: Request) -> Response:
    """Every agent with its role, how it stands and what it works on; and the teams of work sessions."""
    moot = get_server_state(request).moot.moot
    records, tasks = await moot.work_sessions.all(), await moot.tasks.all()
    teams = [record for record in records.values() if record.team]
    return render_page(
        request,
        "team.html",
        members=teammates(await moot.team.members(tasks), moot.graph.agents.values(), tasks),
        teams=sorted(teams, key=lambda record: record.created_at, reverse=True),
        HEALTH=HEALTH,
    )


ROUTES = (
    form_route("/work-sessions", collaborate, work_sessions),
    form_route("/work-sessions/{id}/carry-on", resume_collaboration, work_session),
    form_route("/work-sessions/{id}/plans/{plan}/steps/{step}/run", run_step, work_session),
    Route("/work-sessions", work_sessions, name="work"),
    Route("/work-sessions/{id}", work_session),
    Route("/work-sessions/{id}/artifacts/{artifact}", show_artifact),
    form_route("/work-sessions/{id}/{deed}", change_work_session, work_session),
    Route("/team", team, name="team"),
)
