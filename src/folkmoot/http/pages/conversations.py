"""Conversations: what main agents said to each other, as threads; what agents had others do for them is not here."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.coordination.author import Author
from folkmoot.coordination.work_sessions.decide import categorised, known_category
from folkmoot.domain.category import LABELS
from folkmoot.errors import NotFound, WrongUse
from folkmoot.http.house import House, house_of
from folkmoot.http.pages.form import Form, form_of, person, posted
from folkmoot.http.pages.rendering import page
from folkmoot.http.problems import Refused
from folkmoot.views.conversations import GROUPS, ThreadRow, Wanted, chosen, counts


async def conversations(request: Request) -> Response:
    return await _shown(request)


async def _shown(request: Request, problem: str = "") -> Response:
    house, wanted = house_of(request), _wanted(request)
    rows = await house.records.threads()
    id = request.path_params.get("id", "")
    return page(
        request,
        "conversations.html",
        screen="conversations",
        title="Conversations",
        groups=[
            (name, [row for row in chosen(rows, wanted) if row.status == key]) for key, name in GROUPS.items()
        ],
        total=len(rows),
        counts=counts(rows),
        wanted=wanted,
        row=_row(rows, id) if id else None,
        now=house.moot.moot.clock.now(),
        LABELS=LABELS,
        problem=problem,
    )


def _wanted(request: Request) -> Wanted:
    wanted = Wanted(request.query_params.get("category", ""), request.query_params.get("q", ""))
    if wanted.category:
        try:
            known_category(wanted.category)
        except WrongUse as error:
            raise Refused(400, str(error)) from error
    return wanted


def _row(rows: list[ThreadRow], id: str) -> ThreadRow:
    if row := next((row for row in rows if row.id == id), None):
        return row
    raise NotFound(
        f"there is no conversation {id!r} between main agents; the list shows those that are",
        code="conversation_not_found",
    )


async def categorise(request: Request) -> Response:
    form = await form_of(request)
    return await posted(_categorised(request, form), lambda problem: _shown(request, problem))


async def _categorised(request: Request, form: Form) -> str:
    """The category is that of the work session: all that is said in it has the same."""
    house: House = house_of(request)
    row = _row(await house.records.threads(), request.path_params["id"])
    category = known_category(form["category"])
    await house.moot.moot.work_sessions.change(row.work_session, categorised(category), Author(person(form)))
    return f"/conversations/{row.id}"


ROUTES = (
    Route("/conversations", conversations, name="conversations"),
    Route("/conversations/{id}", conversations),
    Route("/conversations/{id}/category", categorise, methods=["POST"]),
)
