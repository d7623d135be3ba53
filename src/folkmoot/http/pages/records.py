"""Tasks and decisions: the board, one task, one decision with its votes and its record, and forms to change them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from folkmoot.domain.task import EFFORTS, PRIORITIES
from folkmoot.http.pages.rendering import PageForm, find_form, form_route, perform_form, render_page
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.operations import decisions as decision_operations
from folkmoot.operations import tasks as task_operations
from folkmoot.ports import RunQuery
from folkmoot.views.decisions import ballot, record
from folkmoot.views.tasks import WantedTasks, board, card
from folkmoot.views.timeline import timeline_entry


async def tasks(request: Request) -> Response:
    house, query = get_server_state(request), request.query_params
    wanted = WantedTasks(query.get("agent", ""), query.get("workSession", ""), query.get("q", ""))
    every = await house.moot.moot.tasks.all()
    columns = board(every.values(), house.clock.now(), wanted)
    owners = sorted({task.agent_id for task in every.values()})
    return render_page(request, "tasks.html", columns=columns, wanted=wanted, owners=owners)


async def task(request: Request) -> Response:
    house, id = get_server_state(request), request.path_params["id"]
    found = await house.moot.moot.tasks.get(id)
    happened = [entry async for entry in house.moot.events(id)]
    return render_page(
        request,
        "task.html",
        card=card(found, house.clock.now()),
        task=found,
        timeline=[line for entry in happened if (line := timeline_entry(entry))],
        runs=await _list_runs(house, id),
        agents=_list_agents(house),
    )


async def _list_runs(house: ServerState, task: str) -> list[str]:
    """The runs that work on a task, or that it was made in."""
    runs = await house.moot.moot.journal.runs(RunQuery(task=task, sort="started"))
    return [run.run for run in runs]


async def new_task(request: Request) -> Response:
    values = {"agents": _list_agents(get_server_state(request)), "PRIORITIES": PRIORITIES, "EFFORTS": EFFORTS}
    return render_page(request, "task_new.html", **values)


async def add_task(request: Request, form: PageForm) -> str:
    return f"/tasks/{(await perform_form(task_operations.AddTask, get_server_state(request), form)).id}"


async def change_task(request: Request, form: PageForm) -> str:
    operation = find_form(request.path_params["deed"], task_operations.OPERATIONS)
    task = await perform_form(operation, get_server_state(request), form, task=request.path_params["id"])
    return f"/tasks/{task.id}"


def _list_agents(house: ServerState) -> list[str]:
    return sorted(agent.id for agent in house.moot.graph.agents.values())


async def decisions(request: Request) -> Response:
    found = [
        ballot(each)
        for each in reversed((await get_server_state(request).moot.moot.decisions.all()).values())
    ]
    status = request.query_params.get("status", "")
    shown = [each for each in found if status in ("", each.decision.status)]
    statuses = list(dict.fromkeys(each.decision.status for each in found))
    values = {"ballots": shown, "status": status, "statuses": statuses}
    return render_page(request, "decisions.html", **values)


async def decision(request: Request) -> Response:
    house = get_server_state(request)
    found = await house.moot.moot.decisions.get(request.path_params["id"])
    return render_page(
        request,
        "decision.html",
        ballot=ballot(found),
        over=found.is_over(house.clock.now()),
        decision=found,
        people=[voter.name for voter in found.participants if voter.name not in _list_agents(house)],
        adr=record(found),
    )


async def decision_markdown(request: Request) -> Response:
    found = await get_server_state(request).moot.moot.decisions.get(request.path_params["id"])
    return PlainTextResponse(record(found), media_type="text/markdown")


async def change_decision(request: Request, form: PageForm) -> str:
    house, deed = get_server_state(request), request.path_params["deed"]
    operation = find_form(deed, decision_operations.OPERATIONS)
    decision = await perform_form(operation, house, form, decision=request.path_params["id"])
    if deed == "vote":
        await house.moot.moot.decisions.settle(decision.id)
    return f"/decisions/{decision.id}"


ROUTES = (
    Route("/tasks", tasks, name="tasks"),
    form_route("/tasks", add_task, new_task),
    Route("/tasks/new", new_task),
    Route("/tasks/{id}", task),
    form_route("/tasks/{id}/{deed}", change_task, task),
    Route("/decisions", decisions, name="decisions"),
    Route("/decisions/{id}.md", decision_markdown),
    Route("/decisions/{id}", decision),
    form_route("/decisions/{id}/{deed}", change_decision, decision),
)
