"""Decisions: all of them, one with its votes and its record, and the forms to comment, vote and decide."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, find_form, form_of, perform_form, posted
from folkmoot.http.pages.rendering import page
from folkmoot.operations.decisions import OPERATIONS
from folkmoot.views.decisions import ballot, record


async def decisions(request: Request) -> Response:
    house = house_of(request)
    found = [ballot(each) for each in reversed(await house.moot.moot.decisions.all())]
    status = request.query_params.get("status", "")
    shown = [each for each in found if status in ("", each.decision.status)]
    return page(
        request, "decisions.html", screen="decisions", title="Decisions", ballots=shown, status=status,
        statuses=list(dict.fromkeys(each.decision.status for each in found)), now=house.moot.moot.clock.now(),
    )  # fmt: skip


async def decision(request: Request) -> Response:
    return await _decision(request)


async def _decision(request: Request, problem: str = "", form: Form = Form()) -> Response:
    house = house_of(request)
    found = await house.moot.moot.decisions.get(request.path_params["id"])
    agents = {agent.id for agent in house.moot.graph.agents.values()}
    people = [voter.name for voter in found.participants if voter.name not in agents]
    return page(
        request,
        "decision.html",
        screen="decisions",
        title=found.topic,
        ballot=ballot(found),
        over=found.is_over(house.moot.moot.clock.now()),
        decision=found,
        people=people,
        adr=record(found),
        problem=problem,
        form=form,
    )


async def as_markdown(request: Request) -> Response:
    found = await house_of(request).moot.moot.decisions.get(request.path_params["id"])
    return PlainTextResponse(record(found), media_type="text/markdown")


async def change(request: Request) -> Response:
    form = await form_of(request)
    id, deed = request.path_params["id"], request.path_params["deed"]
    deeds = _changed(house_of(request), id, deed, form)
    return await posted(deeds, lambda problem: _decision(request, problem, form))


async def _changed(house: House, id: str, deed: str, form: Form) -> str:
    decision = await perform_form(find_form(deed, OPERATIONS), house, form, decision=id)
    if deed == "vote":
        await house.moot.moot.decisions.settle(decision.id)
    return f"/decisions/{decision.id}"


ROUTES = (
    Route("/decisions", decisions, name="decisions"),
    Route("/decisions/{id}.md", as_markdown),
    Route("/decisions/{id}", decision),
    Route("/decisions/{id}/{deed}", change, methods=["POST"]),
)
