"""`/v1/responses`: an agent asked through OpenAI's Responses API. A response is a run, or a part of one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.events import RunStarted
from folkmoot.domain.message import ToolCall
from folkmoot.errors import WrongUse
from folkmoot.http.doors import reading
from folkmoot.http.doors.conversation import Said, talk, with_what_was_said
from folkmoot.http.doors.going_on import Past, past_of
from folkmoot.http.doors.offers import name_of, offered, sight
from folkmoot.http.doors.reply import Going, Reply, reply_of
from folkmoot.http.doors.responses_form import (
    FREEFORM,
    FUNCTION,
    MESSAGE,
    REASONING,
    Events,
    head_of,
    whole,
)
from folkmoot.http.doors.responses_request import PREFIX, ResponseBody
from folkmoot.http.doors.running import Running, seconds
from folkmoot.http.doors.streaming import Stream
from folkmoot.http.doors.wrong import Wrong
from folkmoot.http.house import House, house_of
from folkmoot.views.result import Result


async def respond(request: Request) -> Response:
    body = await reading.body(request, ResponseBody)
    house = house_of(request)
    agent = offered(house.moot, body.model)
    body.require_possible(agent)
    recalled = {id: await _recalled(request, id) for id in body.references}
    said = [*body.said(recalled.__getitem__)]
    asked = replace(
        talk(agent.file, agent.id, said, alone=not body.after, sight=sight(house.moot, agent)),
        tools=tuple(body.client_tools()),
        work_session=reading.work_session(request, body.metadata),
    )
    if body.after:
        past = await _past(house, body.after, "previous_response_id")
        asked = with_what_was_said(asked, agent.id, past.name, past.drafts)
    running = await Running.of(request)
    going = await running.begin(asked, surely=bool(body.stream))
    head = head_of(
        f"{PREFIX}{going.name}",
        seconds(house.clock.now()),
        body.model,
        previous_response_id=body.previous_response_id,
        instructions=body.instructions,
        metadata=body.metadata or {},
    )
    if body.stream:
        return Stream(running, going, Events(head))
    reply = await running.ended(going, request.receive)
    if reply.wrong:
        raise reply.wrong
    return _json(whole(head, reply))


async def response(request: Request) -> Response:
    """As it was given, from the journal."""
    house = house_of(request)
    past = await _past(house, request.path_params["id"].removeprefix(PREFIX), "response_id")
    started = past.drafts[0].event
    assert isinstance(started, RunStarted)
    head = head_of(f"{PREFIX}{past.name}", seconds(past.drafts[0].ts), name_of(house.moot, started.agent))
    return _json(whole(head, await _reply(request, past)) if past.is_over else head)


async def _reply(request: Request, past: Past) -> Reply:
    """As it was given then."""
    spent = Result(past.run, past.drafts[: past.entries]).totals
    going = Going(past.run, past.entries, spent)
    return reply_of(Result(past.run, past.drafts), going, (await Running.of(request)).page)


async def _recalled(request: Request, id: str) -> Said | None:
    """What an item of an earlier answer said. Raises `Wrong` if there is none."""
    house, threads = house_of(request), request.app.state.threads
    kind, _, rest = id.partition("_")
    with suppress(WrongUse):
        if f"{kind}_" in (MESSAGE, REASONING) and rest.startswith(PREFIX):
            past = await past_of(house.moot, rest.removeprefix(PREFIX))
            if f"{kind}_" == REASONING:
                return None
            if past.is_over and not (reply := await _reply(request, past)).wrong:
                return Said("assistant", reply.text)
        elif f"{kind}_" in (FUNCTION, FREEFORM) and (called := await threads.called([rest])):
            item = next(item for item in await house.moot.inbox(called.run) if item.id == rest)
            return Said("assistant", calls=(ToolCall(item.id, item.tool, item.arguments),))
    raise Wrong(404, f"there is no item {id!r} in any answer that was given here", param="input")


async def _past(house: House, name: str, param: str) -> Past:
    try:
        return await past_of(house.moot, name)
    except WrongUse as error:
        raise Wrong(404, f"there is no response {PREFIX + name!r}", param=param) from error


def _json(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


ROUTES = (Route("/responses", respond, methods=["POST"]), Route("/responses/{id}", response))
