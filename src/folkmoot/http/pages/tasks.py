"""The task board, one task, and what people may do to tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.coordination.author import Author
from folkmoot.coordination.task.desk import AgentTasks
from folkmoot.coordination.task.opening import NewTask
from folkmoot.domain.events import RunStarted
from folkmoot.domain.task import EFFORTS, PRIORITIES, Blocking, Task
from folkmoot.engine.identity import chance
from folkmoot.errors import WrongUse
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, person, posted
from folkmoot.http.pages.rendering import page
from folkmoot.ports import Query
from folkmoot.views.board import WantedTasks, board, card
from folkmoot.views.work_timeline import timeline_entry

_Deed = Callable[[AgentTasks, str, Form], Awaitable[Task]]


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
    read = house.moot.moot.journal.read(Query(types=(RunStarted.type,)))
    started = [(entry.stream, entry.event) async for entry in read]
    return [run for run, event in started if isinstance(event, RunStarted) and event.errand.task == task]


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
    wish = NewTask(
        description=form["description"],
        context=form["context"],
        priority=form["priority"],
        steps=tuple(filter(None, map(str.strip, form["steps"].split("\n")))),
        estimated_effort=form["effort"],
        due_date=form["due"],
        depends_on=tuple(filter(None, form["after"].replace(",", " ").split())),
    )
    desk = house.moot.moot.tasks.of(form["agent"], Author(person(form)))
    return f"/tasks/{(await desk.add(wish, chance())).id}"


async def change(request: Request) -> Response:
    form = await form_of(request)
    return await posted(_changed(request, form), lambda problem: _task(request, problem, form))


async def _changed(request: Request, form: Form) -> str:
    id, deed = request.path_params["id"], request.path_params["deed"]
    if deed not in _DEEDS:
        raise WrongUse(f"nobody can {deed!r} a task; use one of the buttons")
    await _DEEDS[deed](house_of(request).moot.moot.tasks.of("", Author(person(form))), id, form)
    return f"/tasks/{id}"


def _block(desk: AgentTasks, id: str, form: Form) -> Awaitable[Task]:
    helpers = tuple(filter(None, form["helper"].replace(",", " ").split()))
    return desk.block(Blocking(form["text"], helpers), id)


_DEEDS: dict[str, _Deed] = {
    "approve": lambda desk, id, _: desk.approve(id),
    "cancel": lambda desk, id, form: desk.cancel(id, form["text"]),
    "block": _block,
    "resume": lambda desk, id, _: desk.resume(id),
    "complete": lambda desk, id, form: desk.complete(id, form["text"], force="force" in form),
    "update": lambda desk, id, form: desk.update(id, form["text"]),
}


def _agents(house: House) -> list[str]:
    return sorted(agent.id for agent in house.moot.graph.agents.values())


ROUTES = (
    Route("/tasks", tasks, name="tasks"),
    Route("/tasks", add, methods=["POST"]),
    Route("/tasks/new", new),
    Route("/tasks/{id}", task),
    Route("/tasks/{id}/{deed}", change, methods=["POST"]),
)
