"""What people have agents do in a work session: reach a goal as a team, carry it on, carry out the step of a plan."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.coordination.author import Author
from folkmoot.domain.work_session_events import WorkSessionOpened
from folkmoot.engine.claims import chance
from folkmoot.engine.collaboration import begun, gathered, seats
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, person, posted
from folkmoot.http.pages.work import listed, shown


async def collaborate(request: Request) -> Response:
    form = await form_of(request)
    return await posted(_gathered(house_of(request), form), lambda problem: listed(request, problem))


async def carry_on(request: Request) -> Response:
    house, id = house_of(request), request.path_params["id"]
    by = Author(person(await form_of(request)))
    return await posted(_carried_on(house, id, by), lambda problem: shown(request, problem))


async def run_step(request: Request) -> Response:
    house, by = house_of(request), Author(person(await form_of(request)))
    plan, step = request.path_params["plan"], request.path_params["step"]
    return await posted(_begun(house, plan, step, by), lambda problem: shown(request, problem))


async def _gathered(house: House, form: Form) -> str:
    by, opening = Author(person(form)), WorkSessionOpened(form["goal"])
    work = await gathered(house.moot.moot, opening, seats(house.moot.graph, ()), chance(), by)
    return await _carried_on(house, work.id, by)


async def _carried_on(house: House, id: str, by: Author) -> str:
    await house.carrying.begin(id, by)
    return f"/work-sessions/{id}"


async def _begun(house: House, plan: str, step: str, by: Author) -> str:
    wanted = await begun(house.moot.moot, plan, step, by)
    return f"/runs/{await house.room.begin(wanted.owner, wanted.request, wanted.errand)}"


ROUTES = (
    Route("/work-sessions", collaborate, methods=["POST"]),
    Route("/work-sessions/{id}/carry-on", carry_on, methods=["POST"]),
    Route("/work-sessions/{id}/plans/{plan}/steps/{step}/run", run_step, methods=["POST"]),
)
