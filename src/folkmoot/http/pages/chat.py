"""Chat with an agent: each message is a run, and all runs of a chat are one work session."""

from __future__ import annotations

from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.domain.errand import Errand, own_work_session
from folkmoot.engine.claims import chance
from folkmoot.errors import NotFound, WrongUse
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, posted
from folkmoot.http.pages.rendering import fragment, page
from folkmoot.ports import RunQuery
from folkmoot.views.asks import title_of
from folkmoot.views.chat import Exchange, exchange, said_before


async def chat(request: Request) -> Response:
    return await _shown(request)


async def _shown(request: Request, problem: str = "", form: Form = Form()) -> Response:
    house, id = house_of(request), request.path_params.get("id", "")
    exchanges = await _exchanges(house, id) if id else []
    named = exchanges[-1].agent if exchanges else request.query_params.get("agent", "")
    agents = sorted(house.moot.graph.agents.values(), key=lambda agent: agent.id)
    rows = await house.records.work_rows()
    return page(
        request,
        "chat.html",
        screen="chat",
        title="Chat",
        agents=agents,
        agent=house.moot.agent(named).id if named else "",
        chats=[*islice((row for row in rows if row.state is None and row.runs), 30)],
        problem=problem,
        form=form,
        opened=bool(id or named or problem or "new" in request.query_params),
        **await _turns(house, id, exchanges),
    )


async def turns(request: Request) -> Response:
    """What was said, for a page that stays open; it asks again as long as somebody is writing."""
    house, id = house_of(request), request.path_params["id"]
    return HTMLResponse(fragment("chat_turns.html", **await _turns(house, id, await _exchanges(house, id))))


async def _turns(house: House, id: str, exchanges: list[Exchange]) -> dict[str, Any]:
    waiting = {id for each in exchanges for id in each.waiting}
    items = [item for item in await house.moot.inbox() if item.id in waiting] if waiting else []
    return {
        "id": id,
        "exchanges": exchanges,
        "heard": house.heard.texts,
        "asked": {item.id: title_of(item) for item in items},
        "live": any(each.under_way for each in exchanges),
    }


async def _exchanges(house: House, id: str) -> list[Exchange]:
    row = await house.records.work_row(id)
    if row is None:
        raise NotFound(f"there is no chat {id!r}; begin one", code="chat_not_found")
    status = {run.run_id: run.status for run in await house.moot.runs(RunQuery(runs=row.runs))}
    said = []
    for run in row.runs:
        drafts = [entry.draft async for entry in house.moot.events(run)]
        said.append(exchange(run, drafts, status.get(run, "interrupted")))
    return [each for each in said if each]


async def say(request: Request) -> Response:
    form, id = await form_of(request), request.path_params.get("id", "")
    return await posted(_said(house_of(request), id, form), lambda problem: _shown(request, problem, form))


async def _said(house: House, id: str, form: Form) -> str:
    if not form["text"]:
        raise WrongUse("there is nothing to send; write something to the agent")
    before = await _exchanges(house, id) if id else []
    if any(each.under_way for each in before):
        raise WrongUse("the agent is still answering; wait for it, or cancel its run")
    session = id or own_work_session(chance())
    agent = before[-1].agent if before else form["agent"]
    errand = Errand(work_session=session, blocks=said_before(before))
    run = await house.room.begin(agent, form["text"], errand)
    return f"/chat/{await _work_session(house, run)}"


async def _work_session(house: House, run: str) -> str:
    """The one that took the run: an archived one is gone on with in another."""
    async for entry in house.moot.events(run):
        return entry.draft.work_session_id
    raise WrongUse(f"run {run} has left nothing in the journal")


ROUTES = (
    Route("/chat", chat, name="chat"),
    Route("/chat", say, methods=["POST"]),
    Route("/chat/{id}", chat),
    Route("/chat/{id}", say, methods=["POST"]),
    Route("/chat/{id}/turns", turns),
)
