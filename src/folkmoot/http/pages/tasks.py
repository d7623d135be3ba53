"""The task board, one task, and what people may do to tasks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.task import EFFORTS, PRIORITIES
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, find_form, form_of, perform_form, posted
from folkmoot.http.pages.rendering import page
from folkmoot.operations.tasks import OPERATIONS, AddTask
from folkmoot.ports import RunQuery
from folkmoot.views.board import WantedTasks, board, card
from folkmoot.views.work_timeline import timeline_entry


async def tasks(request: Request) -> Response:
    house, query = house_of(request), request.query_params
    wanted = WantedTasks(query.get("agent", ""), query.get("workSession", ""), query.get("q", ""))
    every = await house.moot.moot.tasks.all()
    columns = board(every.values(), house.moot.moot.clock.now(), wanted)
    owners = sorted({task.agent_id for task in every.values()})
    return page(
        request, "tasks.html", screen="tasks", title="Tasks", columns=columns, wanted=wanted, owners=owners
    )


async def task(request: Request) -> Response:
    return await _task(request)


async def _task(request: Request, problem: str = "", form: Form = Form()) -> Response:
    house, id = house_of(request), request.path_params["id"]
    found = await house.moot.moot.tasks.get(id)
    happened = [entry async for entry in house.moot.events(id)]
    return page(
        request,
        "task.html",
        screen="tasks",
        title=found.description,
        card=card(found, house.moot.moot.clock.now()),
        task=found,
        timeline=[line for entry in happened if (line := timeline_entry(entry))],
        runs=await _runs(house, id),
        agents=_agents(house),
        problem=problem,
        form=form,
    )


async def _runs(house: House, task: str) -> list[str]:
    """The runs that work on a task, or that it was made in."""
    runs = await house.moot.moot.journal.runs(RunQuery(task=task, sort="started"))
    return [run.run for run in runs]


async def new(request: Request) -> Response:
    return await _new(request)


async def _new(request: Request, problem: str = "", form: Form = Form()) -> Response:
    values = {"agents": _agents(house_of(request)), "PRIORITIES": PRIORITIES, "EFFORTS": EFFORTS}
    return page(
        request,
        "task_new.html",
        screen="tasks",
        title="Add a task",
        problem=problem,
        form=form,
        **values,
    )


async def add(request: Request) -> Response:
    form = await form_of(request)
    return await posted(_added(house_of(request), form), lambda problem: _new(request, problem, form))


async def _added(house: House, form: Form) -> str:
    return f"/tasks/{(await perform_form(AddTask, house, form)).id}"


async def change(request: Request) -> Response:
    form = await form_of(request)
    return await posted(_changed(request, form), lambda problem: _task(request, problem, form))


async def _changed(request: Request, form: Form) -> str:
    deed = find_form(request.path_params["deed"], OPERATIONS)
    task = await perform_form(deed, house_of(request), form, task=request.path_params["id"])
    return f"/tasks/{task.id}"


def _agents(house: House) -> list[str]:
    return sorted(agent.id for agent in house.moot.graph.agents.values())


ROUTES = (
    Route("/tasks", tasks, name="tasks"),
    Route("/tasks", add, methods=["POST"]),
    Route("/tasks/new", new),
    Route("/tasks/{id}", task),
    Route("/tasks/{id}/{deed}", change, methods=["POST"]),
)
