"""The inbox: what waits for a person, whole, and the forms that answer it; and how much waits, beside every page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from folkmoot.domain.decision import Decision
from folkmoot.domain.inbox import APPROVED, Item, Reply
from folkmoot.domain.inbox_events import Settlement
from folkmoot.domain.naming import wire_name
from folkmoot.domain.plan import Plan
from folkmoot.domain.task import Task
from folkmoot.errors import NotFound, WrongUse
from folkmoot.http.pages.rendering import (
    PageForm,
    author_name,
    form_route,
    perform_form,
    render_fragment,
    render_page,
)
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.operations.plans import ApprovePlan, RejectPlan
from folkmoot.operations.tasks import ApproveTask, CancelTask
from folkmoot.ports import RecordQuery
from folkmoot.tools.builtin.files import before_and_after
from folkmoot.tools.registry import Refused as NotChanged
from folkmoot.views.drawer import Patch, patch
from folkmoot.views.inbox import (
    ICONS,
    Ask,
    about,
    asks,
    tool_name,
    whole_call,
)

_WRITING = tuple(map(wire_name, ("files.write", "files.edit")))
_LARGEST = 10_000_000
"""Bytes of a file that is compared."""
MOST_PAST = 50
_SETTLEMENTS: tuple[Settlement, ...] = ("done", "retry", "fail")
_WAITING = ("submitted", "pending_approval", "escalated")
"""What a plan, a task and a decision are while they wait for a person."""


@dataclass(frozen=True)
class _InboxRecords:
    """All that may wait, by id, and the list that people see of it."""

    items: Mapping[str, Item]
    plans: Mapping[str, Plan]
    tasks: Mapping[str, Task]
    decisions: Mapping[str, Decision]
    asks: list[Ask]

    @classmethod
    async def read(cls, house: ServerState) -> _InboxRecords:
        moot = house.moot.moot
        items = {item.id: item for item in await house.moot.inbox()}
        plans, tasks = await moot.plans.all(), await moot.tasks.all()
        decisions = await moot.decisions.all()
        listed = asks(items.values(), plans.values(), tasks.values(), decisions.values())
        return cls(items, plans, tasks, decisions, listed)

    def ask(self, id: str) -> Ask:
        if ask := next((ask for ask in self.asks if ask.id == id), None):
            return ask
        raise NotFound(
            f"nothing waits, or waited, under the id {id!r}; the inbox shows what does", code="item_not_found"
        )

    def moved_on(self, id: str) -> str:
        """Where to look at a task that waits no more; empty if it is none."""
        task = self.tasks.get(id)
        return f"/tasks/{id}" if task and task.status != "pending_approval" else ""


async def inbox(request: Request) -> Response:
    house, id = get_server_state(request), request.path_params.get("id", "")
    records = await _InboxRecords.read(house)
    if elsewhere := records.moved_on(id):
        return RedirectResponse(elsewhere, 303)
    return render_page(
        request,
        "inbox.html",
        asks=[ask for ask in records.asks if not ask.past],
        past=[ask for ask in records.asks if ask.past][:MOST_PAST],
        selected=id,
        ICONS=ICONS,
        **(await _build_detail(house, records, id) if id else {"ask": None}),
    )


async def show_rail(request: Request) -> Response:
    """What every page says beside its screen: how much waits for a person, and how far the journal is."""
    moot = get_server_state(request).moot
    position, items = await moot.position(), await moot.inbox(status="open")
    records = await moot.moot.journal.records(RecordQuery(statuses=_WAITING))
    waiting = len(items) + sum(row.status in _WAITING for row in records)
    return HTMLResponse(render_fragment("rail.html", waiting=waiting, position=position))


async def show_settled_item(request: Request) -> Response:
    """The past form of what was decided meanwhile; nothing as long as it waits."""
    records, id = await _InboxRecords.read(get_server_state(request)), request.path_params["id"]
    if elsewhere := records.moved_on(id):
        return Response(headers={"HX-Redirect": elsewhere})
    ask = records.ask(id)
    if not ask.past:
        return Response(status_code=204)
    return HTMLResponse(render_fragment("inbox_past.html", ask=ask, can_revoke=False, swap=True))


async def _build_detail(house: ServerState, records: _InboxRecords, id: str) -> dict[str, Any]:
    """What the detail of each kind is made of."""
    ask = records.ask(id)
    match ask.kind:
        case "plan":
            return {"ask": ask, "plan": records.plans[id]}
        case "task":
            return {"ask": ask, "task": records.tasks[id]}
        case "decision":
            return {"ask": ask, "decision": records.decisions[id]}
        case _:
            item = records.items[id]
            return {
                "ask": ask,
                "item": item,
                "headline": f"{tool_name(item.tool)} {about(item)}".strip(),
                "call": whole_call(item),
                "change": await asyncio.to_thread(_preview_change, house, item),
                "can_revoke": item.status in APPROVED and not item.begun,
            }


def _preview_change(house: ServerState, item: Item) -> Patch | None:
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


async def answer_item(request: Request, form: PageForm) -> str:
    """Leave the answer; then the run goes on."""
    house, id = get_server_state(request), request.path_params["id"]
    word, text = form["word"], form["text"]
    records = await _InboxRecords.read(house)
    match records.ask(id).kind, word:
        case "plan", "approve" | "commit":
            await perform_form(ApprovePlan, house, form, plan=id, commit=word == "commit")
        case "plan", "deny":
            await perform_form(RejectPlan, house, form, plan=id, reason=text)
        case "task", "approve":
            await perform_form(ApproveTask, house, form, task=id)
        case "task", "deny":
            await perform_form(CancelTask, house, form, task=id, reason=_check_reason(text))
        case (("approval" | "question" | "in_doubt" | "client_call"), _):
            item = records.items[id]
            await house.moot.reply(_build_reply(item, word, text, author_name(form), form["hash"]))
            house.go_on(item.run)
        case kind, _:
            raise WrongUse(f"{id} is a {kind}; {word!r} cannot be said to it here")
    return f"/inbox/{id}"


def _build_reply(item: Item, word: str, text: str, by: str, seen: str) -> Reply:
    """Bound to the call that was shown, whatever waits there by now."""
    if seen != item.hash:
        raise WrongUse(f"{item.id} asks about another call than the one that was shown; look at it again")
    match word:
        case "approve":
            return item.approve(by)
        case "approve_run":
            return item.approve(by, "run")
        case "deny":
            return item.deny(_check_reason(text), by)
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


def _check_reason(text: str) -> str:
    if not text:
        raise WrongUse("to deny needs a reason: the agent reads it, and goes on without")
    return text


ROUTES = (
    Route("/inbox", inbox, name="inbox"),
    Route("/inbox/{id}", inbox),
    form_route("/inbox/{id}", answer_item, inbox),
    Route("/inbox/{id}/said", show_settled_item),
    Route("/rail", show_rail),
)
