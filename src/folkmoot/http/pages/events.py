"""All events: every filter is in the address, new ones appear on top, and each is there exactly as it was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Role
from folkmoot.errors import NotFound
from folkmoot.http.pages.rendering import read_moment, read_number, render_fragment, render_page
from folkmoot.http.state import get_server_state
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter
from folkmoot.views.timeline import EventRow, event_row

FIELDS = {
    "agent": "Agent",
    "run": "Run or record",
    "session": "Session",
    "step": "Step",
    "work_session": "Work session",
    "since": "Since",
    "until": "Until",
}
"""The filters beside type and role, by their name in the address."""
PAGE = 100
_PLACES = ("before", "at", "after")
"""What says where one is, not what one looks for."""


async def events(request: Request) -> Response:
    moot = get_server_state(request).moot
    query = defaultdict(str, request.query_params)
    wanted = _read_filter(request)
    newest = await moot.position()  # before looking: what comes meanwhile is new
    rows = [event_row(entry) for entry in await moot.find(wanted) if wanted.before or entry.seq <= newest]
    return render_page(
        request,
        "events.html",
        rows=rows,
        query=query,
        fields=FIELDS,
        roles=get_args(Role),
        address=_encode_filters(query),
        older=rows[-1].seq if len(rows) == wanted.limit else 0,
        newest=None if wanted.before else newest,
        chosen=await _read_event(moot, read_number(request, "at")) if query["at"] else None,
    )


async def new_events(request: Request) -> Response:
    """Rows that came after those in sight. When there are too many, the page is to be loaded again."""
    moot = get_server_state(request).moot
    query = defaultdict(str, request.query_params)
    after = read_number(request, "after")
    newest = await moot.position()
    found = await moot.find(_read_filter(request)) if newest > after else []
    rows = [event_row(entry) for entry in found if after < entry.seq <= newest]
    if len(rows) == PAGE:
        return Response(headers={"HX-Refresh": "true"})
    values = {"rows": rows, "newest": newest, "address": _encode_filters(query), "query": query}
    return HTMLResponse(render_fragment("event_rows.html", **values))


def _read_filter(request: Request) -> Filter:
    """What an address asks for. Raises `Refused` for a moment or a number that is none."""
    query = request.query_params
    exact: dict[str, Any] = {name: query.get(name, "") for name in (*FIELDS, "role")}
    times = {name: read_moment(request, name) for name in ("since", "until")}
    types = tuple(query.get("type", "").replace(",", " ").split())
    return Filter(**exact | times, types=types, before=read_number(request, "before"), limit=PAGE)


def _encode_filters(query: Mapping[str, str]) -> str:
    """The filters alone, to be followed by where one is."""
    return urlencode({name: value for name, value in query.items() if value and name not in _PLACES})


async def _read_event(moot: Folkmoot, seq: int) -> tuple[EventRow, str]:
    for entry in await moot.find(Filter(before=seq + 1, limit=1)):
        if entry.seq == seq:
            return event_row(entry), msgspec.json.format(to_line(entry), indent=2).decode()
    raise NotFound(f"there is no event {seq}: it may have been pruned", code="event_not_found")


ROUTES = (Route("/events", events), Route("/events/new", new_events))
