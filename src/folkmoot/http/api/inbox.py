"""The inbox: what runs wait for someone to say. Approvals are the part of it that is about calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from folkmoot.domain.inbox import Item, Kind, Reply
from folkmoot.engine.commands import allow_call_always
from folkmoot.errors import WrongUse
from folkmoot.http.api.shapes import Recorded, go_on
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.requests import Page, Part, Said, Words, part
from folkmoot.views.inbox import document

_OF_FIRST = {"id": "$response.body#/0/id"}


class ApprovalsQuery(Page):
    run: str = ""
    """Of one run."""
    all: bool = False
    """Also what is decided already."""


class InboxQuery(ApprovalsQuery):
    kind: Kind | None = None
    """Those of this kind."""


class Answer(Said):
    text: Words
    """What the agent will read."""


class ApproveCall(Said):
    scope: Literal["once", "run", "always"] = "once"
    """`run`: equal calls of this run need no further word. `always`: nor do equal calls of later runs; that adds a
    rule to folkmoot.yaml."""


class Deny(Said):
    reason: str = ""
    """The agent reads it."""


class Settle(Said):
    decision: Literal["done", "retry", "fail"]
    """It happened; it did not, make it again; tell the agent that it failed."""
    text: str = ""
    """Its result, or why it failed; the agent reads it."""


async def list_inbox(asked: Asked) -> Part:
    query: InboxQuery = asked.query
    return _listed(await asked.moot.inbox(query.run), query, query.kind)


async def list_approvals(asked: Asked) -> Part:
    query: ApprovalsQuery = asked.query
    return _listed(await asked.moot.inbox(query.run), query, "approval")


async def show_item(asked: Asked) -> dict[str, Any]:
    return document(await asked.moot.item(asked.id))


async def answer_question(asked: Asked) -> Recorded:
    return await _say(asked, lambda item, by: item.answer(asked.body.text, by))


async def settle_call(asked: Asked) -> Recorded:
    """For a call that was under way when its process died."""
    body: Settle = asked.body
    return await _say(asked, lambda item, by: item.settle(body.decision, body.text, by))


async def approve_call(asked: Asked) -> Recorded:
    """Exactly the call that is shown is made, once."""
    scope = asked.body.scope
    if scope == "always":
        item, by = await asked.moot.item(asked.id), asked.author.name
        if item.kind != "approval" or not item.is_open:
            raise WrongUse(f"{item.id} is no approval that waits for a word")
        await asyncio.to_thread(allow_call_always, asked.moot.folder, item, by)
    return await _say(asked, lambda item, by: item.approve(by, "once" if scope == "once" else "run"))


async def deny_call(asked: Asked) -> Recorded:
    """The agent reads why, and goes on without it."""
    return await _say(asked, lambda item, by: item.deny(asked.body.reason, by))


async def revoke_approval(asked: Asked) -> Recorded:
    """As long as the call was not made; the agent reads it as a denial."""
    return await _say(asked, lambda item, by: item.revoke(asked.body.reason, by))


def _listed(items: Sequence[Item], query: ApprovalsQuery, kind: Kind | None) -> Part:
    rows = [document(item) for item in items if kind in (None, item.kind) and (query.all or item.is_open)]
    return part(rows, query, lambda row: str(row["id"]))


async def _say(asked: Asked, reply: Any) -> Recorded:
    """Leave the word; this server goes on with the run if nobody else holds it."""
    item = await asked.moot.item(asked.id)
    said: Reply = reply(item, asked.author.name)
    await asked.moot.reply(said)
    go_on(asked, item.run)
    return Recorded(item.id, "recorded")


def _word(path: str, summary: str, handle: Any, body: Any) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        summary=summary,
        handle=handle,
        body=body,
        answer=Recorded,
        problems=(409,),
        links={"showItem": {"id": "$response.body#/id"}},
    )


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/inbox",
        summary="What waits for someone, of all runs, the oldest first",
        handle=list_inbox,
        query=InboxQuery,
        answer=list[Document],
        links={name: _OF_FIRST for name in ("showItem", "answerQuestion", "settleCall")},
    ),
    Endpoint(
        method="GET",
        path="/approvals",
        summary="The calls that wait for someone's word",
        handle=list_approvals,
        query=ApprovalsQuery,
        answer=list[Document],
        links={name: _OF_FIRST for name in ("approveCall", "denyCall", "revokeApproval")},
    ),
    Endpoint(
        method="GET",
        path="/inbox/{id}",
        summary="One item: who asks, and the whole call or question",
        handle=show_item,
        answer=Document,
    ),
    _word(
        "/inbox/{id}/answer",
        "Answer a question of an agent, or say what a tool of its caller gave",
        answer_question,
        Answer,
    ),
    _word(
        "/inbox/{id}/settle",
        "Say what became of a call in doubt, or that a tool of the caller failed",
        settle_call,
        Settle,
    ),
    _word("/approvals/{id}/approve", "Let a call be made", approve_call, ApproveCall),
    _word("/approvals/{id}/deny", "Refuse a call", deny_call, Deny),
    _word("/approvals/{id}/revoke", "Take an approval back", revoke_approval, Deny),
)
