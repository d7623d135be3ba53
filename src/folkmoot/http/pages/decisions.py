"""Decisions: all of them, one with its votes and its record, and the forms to comment, vote and decide."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from folkmoot.coordination.author import Author
from folkmoot.coordination.decisions.committing import Choice
from folkmoot.errors import WrongUse
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, person, posted
from folkmoot.http.pages.rendering import page
from folkmoot.views.adr import record
from folkmoot.views.ballot import ballot


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
    desk, by, text = house.moot.moot.decisions, Author(person(form)), form["text"]
    match deed:
        case "vote":
            await desk.vote(id, by, form["option"], text)
            await desk.settle(id)
        case "comment":
            await desk.comment(id, by, text)
        case "commit":
            await desk.commit(id, by, Choice(form["option"], text))
        case _:
            raise WrongUse(f"nobody can {deed!r} a decision; use one of the buttons")
    return f"/decisions/{id}"


ROUTES = (
    Route("/decisions", decisions, name="decisions"),
    Route("/decisions/{id}.md", as_markdown),
    Route("/decisions/{id}", decision),
    Route("/decisions/{id}/{deed}", change, methods=["POST"]),
)
