"""Conversations: of main agents with each other, as threads; and of a person with an agent, the chat.

Each message of a chat is a run, and all runs of a chat are one work session. What agents had others do for them is not
here.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.coordination.work_sessions import known_category
from folkmoot.domain.errand import Errand, own_work_session
from folkmoot.engine.claims import draw_id_seed
from folkmoot.errors import NotFound, WrongUse
from folkmoot.http.pages.rendering import PageForm, form_route, perform_form, render_fragment, render_page
from folkmoot.http.problems import HttpError
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.operations.work_sessions import CategoriseWorkSession
from folkmoot.ports import RunQuery
from folkmoot.views.conversations import (
    GROUPS,
    Exchange,
    ThreadRow,
    Wanted,
    chosen,
    counts,
    exchange,
    said_before,
)
from folkmoot.views.inbox import title_of


async def conversations(request: Request) -> Response:
    wanted = Wanted(request.query_params.get("category", ""), request.query_params.get("q", ""))
    if wanted.category:
        try:
            known_category(wanted.category)
        except WrongUse as error:
            raise HttpError(400, str(error)) from error
    rows = await get_server_state(request).folds.threads()
    shown, id = chosen(rows, wanted), request.path_params.get("id", "")
    return render_page(
        request,
        "conversations.html",
        groups=[(name, [row for row in shown if row.status == key]) for key, name in GROUPS.items()],
        total=len(rows),
        counts=counts(rows),
        wanted=wanted,
        row=_find_thread(rows, id) if id else None,
    )


def _find_thread(rows: list[ThreadRow], id: str) -> ThreadRow:
    if row := next((row for row in rows if row.id == id), None):
        return row
    raise NotFound(
        f"there is no conversation {id!r} between main agents; the list shows those that are",
        code="conversation_not_found",
    )


async def categorise(request: Request, form: PageForm) -> str:
    """The category is that of the work session: all that is said in it has the same."""
    house = get_server_state(request)
    row = _find_thread(await house.folds.threads(), request.path_params["id"])
    await perform_form(CategoriseWorkSession, house, form, work=row.work_session)
    return f"/conversations/{row.id}"


async def chat(request: Request) -> Response:
    house, id = get_server_state(request), request.path_params.get("id", "")
    exchanges = await _read_exchanges(house, id) if id else []
    named = exchanges[-1].agent if exchanges else request.query_params.get("agent", "")
    rows = await house.folds.work_rows()
    return render_page(
        request,
        "chat.html",
        agents=sorted(house.moot.graph.agents.values(), key=lambda agent: agent.id),
        agent=house.moot.agent(named).id if named else "",
        chats=[*islice((row for row in rows if row.state is None and row.runs), 30)],
        opened=bool(id or named or request.method == "POST" or "new" in request.query_params),
        **await _turn_values(house, id, exchanges),
    )


async def show_turns(request: Request) -> Response:
    """What was said, for a page that stays open; it asks again as long as somebody is writing."""
    house, id = get_server_state(request), request.path_params["id"]
    return HTMLResponse(
        render_fragment("chat_turns.html", **await _turn_values(house, id, await _read_exchanges(house, id)))
    )


async def _turn_values(house: ServerState, id: str, exchanges: list[Exchange]) -> dict[str, Any]:
    waiting = {id for each in exchanges for id in each.waiting}
    items = [item for item in await house.moot.inbox() if item.id in waiting] if waiting else []
    return {
        "id": id,
        "exchanges": exchanges,
        "heard": house.tokens.texts,
        "asked": {item.id: title_of(item) for item in items},
        "live": any(each.under_way for each in exchanges),
    }


async def _read_exchanges(house: ServerState, id: str) -> list[Exchange]:
    row = (await house.folds.now()).work.row(id, house.clock.now())
    if row is None:
        raise NotFound(f"there is no chat {id!r}; begin one", code="chat_not_found")
    status = {run.run_id: run.status for run in await house.moot.runs(RunQuery(runs=row.runs))}
    said = []
    for run in row.runs:
        drafts = [entry.draft async for entry in house.moot.events(run)]
        said.append(exchange(run, drafts, status.get(run, "interrupted")))
    return [each for each in said if each]


async def send_chat_message(request: Request, form: PageForm) -> str:
    house, id = get_server_state(request), request.path_params.get("id", "")
    if not form["text"]:
        raise WrongUse("there is nothing to send; write something to the agent")
    before = await _read_exchanges(house, id) if id else []
    if any(each.under_way for each in before):
        raise WrongUse("the agent is still answering; wait for it, or cancel its run")
    agent = before[-1].agent if before else form["agent"]
    errand = Errand(work_session=id or own_work_session(draw_id_seed()), blocks=said_before(before))
    run = await house.room.begin(agent, form["text"], errand)
    async for entry in house.moot.events(run):  # an archived work session is gone on with in another
        return f"/chat/{entry.draft.work_session_id}"
    raise WrongUse(f"run {run} has left nothing in the journal")


ROUTES = (
    Route("/conversations", conversations, name="conversations"),
    Route("/conversations/{id}", conversations),
    form_route("/conversations/{id}/category", categorise, conversations),
    Route("/chat", chat, name="chat"),
    form_route("/chat", send_chat_message, chat),
    Route("/chat/{id}", chat),
    form_route("/chat/{id}", send_chat_message, chat),
    Route("/chat/{id}/turns", show_turns),
)
