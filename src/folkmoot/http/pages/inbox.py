"""The inbox: what waits for a person, whole, and the forms that answer it."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.coordination.author import Author
from folkmoot.coordination.plans import life
from folkmoot.domain.inbox_events import Settlement
from folkmoot.domain.item import APPROVED, Item, Reply
from folkmoot.domain.naming import wire_name
from folkmoot.errors import WrongUse
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, person, posted
from folkmoot.http.pages.rendering import fragment, page
from folkmoot.http.problems import NotFound
from folkmoot.tools.builtin.change import before_and_after
from folkmoot.tools.builtin.refused import Refused as NotChanged
from folkmoot.views.asks import ICONS, Ask, about, asks, tool_name
from folkmoot.views.inbox import whole_call
from folkmoot.views.patch import Patch, patch

_WRITING = tuple(map(wire_name, ("files.write", "files.edit")))
_LARGEST = 10_000_000
_SETTLEMENTS: tuple[Settlement, ...] = ("done", "retry", "fail")


async def inbox(request: Request) -> Response:
    return await _shown(request)


async def answer(request: Request) -> Response:
    form = await form_of(request)
    id = request.path_params["id"]
    return await posted(
        _answered(house_of(request), id, form), lambda problem: _shown(request, problem, form)
    )


async def said(request: Request) -> Response:
    """The past form of what was decided meanwhile; nothing as long as it waits."""
    ask = _ask(await _asks(house_of(request)), request.path_params["id"])
    if not ask.past:
        return Response(status_code=204)
    return HTMLResponse(fragment("inbox_past.html", ask=ask, can_revoke=False, swap=True))


async def waiting(request: Request) -> Response:
    """The list alone, for a page that stays open."""
    found = await _asks(house_of(request))
    return HTMLResponse(fragment("inbox_list.html", **_listed(request, found)))


async def _shown(request: Request, problem: str = "", form: Form = Form()) -> Response:
    house, id = house_of(request), request.path_params.get("id", "")
    found = await _asks(house)
    opened = await _opened(house, _ask(found, id)) if id else {"ask": None}
    values = {**_listed(request, found), **opened, "problem": problem, "form": form}
    return page(request, "inbox.html", screen="inbox", title="Inbox", **values)


def _listed(request: Request, found: list[Ask]) -> dict[str, Any]:
    return {
        "asks": [ask for ask in found if not ask.past],
        "past": [ask for ask in found if ask.past][:50],
        "selected": request.path_params.get("id", ""),
        "now": house_of(request).moot.moot.clock.now(),
        "ICONS": ICONS,
        "tool_name": tool_name,
        "about": about,
    }


async def _asks(house: House) -> list[Ask]:
    moot = house.moot.moot
    plans, tasks = await moot.plans.all(), await moot.tasks.all()
    return asks(await house.moot.inbox(), plans.values(), tasks.values(), await moot.decisions.all())


def _ask(found: list[Ask], id: str) -> Ask:
    if ask := next((ask for ask in found if ask.id == id), None):
        return ask
    raise NotFound(f"nothing waits, or waited, under the id {id!r}; the inbox shows what does")


async def _opened(house: House, ask: Ask) -> dict[str, Any]:
    """What the detail of each kind is made of."""
    moot = house.moot.moot
    match ask.kind:
        case "plan":
            return {"ask": ask, "plan": await moot.plans.get(ask.id)}
        case "task":
            return {"ask": ask, "task": await moot.tasks.get(ask.id)}
        case "decision":
            return {"ask": ask, "decision": await moot.decisions.get(ask.id)}
        case _:
            item = await _item(house, ask.id)
            change = await asyncio.to_thread(_change, house, item)
            can_revoke = item.status in APPROVED and not item.begun
            return {
                "ask": ask,
                "item": item,
                "call": whole_call(item),
                "change": change,
                "can_revoke": can_revoke,
            }


async def _item(house: House, id: str) -> Item:
    return next(item for item in await house.moot.inbox() if item.id == id)


def _change(house: House, item: Item) -> Patch | None:
    """What an open call would change in a file now; None where that is not known for sure."""
    graph = house.moot.graph
    agent = next((each for each in graph.agents.values() if each.id == item.agent), None)
    elsewhere = "/" in item.span and graph.settings.orchestration.sub_agent_work_dir
    if item.tool not in _WRITING or not item.is_open or agent is None or elsewhere:
        return None
    try:
        before, after = before_and_after(item.arguments, house.moot.folder / agent.work_dir, _LARGEST)
    except (NotChanged, KeyError):
        return None
    return patch(str(item.arguments["path"]), before, after)


async def _answered(house: House, id: str, form: Form) -> str:
    """Leave the answer; then the run goes on."""
    moot, by, word, text = house.moot.moot, Author(person(form)), form["word"], form["text"]
    match _ask(await _asks(house), id).kind, word:
        case "plan", "approve" | "commit":
            await moot.plans.change(id, by, life.approve, text, committed=word == "commit")
        case "plan", "deny":
            await moot.plans.change(id, by, life.reject, text)
        case "task", "approve":
            await moot.tasks.of("", by).approve(id)
        case "task", "deny":
            await moot.tasks.of("", by).cancel(id, _reason(text))
        case (("approval" | "question" | "in_doubt"), _):
            item = await _item(house, id)
            await house.moot.reply(_reply(item, word, text, by.name, form["hash"]))
            house.go_on(item.run)
        case kind, _:
            raise WrongUse(f"{id} is a {kind}; {word!r} cannot be said to it here")
    return f"/inbox/{id}"


def _reply(item: Item, word: str, text: str, by: str, seen: str) -> Reply:
    """Bound to the call that was shown, whatever waits there by now."""
    if seen != item.hash:
        raise WrongUse(f"{item.id} asks about another call than the one that was shown; look at it again")
    match word:
        case "approve":
            return item.approve(by)
        case "approve_run":
            return item.approve(by, "run")
        case "deny":
            return item.deny(_reason(text), by)
        case "revoke":
            return item.revoke(text, by)
        case "answer" if text:
            return item.answer(text, by)
        case "answer":
            raise WrongUse("an answer needs a text: the agent reads it")
        case "done" | "retry" | "fail":
            return item.settle(_SETTLEMENTS[_SETTLEMENTS.index(word)], text, by)
        case _:
            raise WrongUse(f"nobody can say {word!r} to {item.id}; use one of the buttons")


def _reason(text: str) -> str:
    if not text:
        raise WrongUse("to deny needs a reason: the agent reads it, and goes on without")
    return text


ROUTES = (
    Route("/inbox", inbox, name="inbox"),
    Route("/inbox-list", waiting),
    Route("/inbox/{id}", inbox),
    Route("/inbox/{id}", answer, methods=["POST"]),
    Route("/inbox/{id}/said", said),
)
