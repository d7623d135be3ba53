"""Forms: plain POSTs of the page itself. What was done is looked at elsewhere; what was not is shown in its form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from folkmoot.engine.owner import chance
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.http.problems import Refused, status_of
from folkmoot.http.state import ServerState
from folkmoot.operations.actor import account_name, by_account, by_name
from folkmoot.operations.operation import OperationType, fields_of, read_operation

MOST_FIELDS = 50


class Form(dict[str, str]):
    """What somebody filled in; a field that was not there is empty."""

    def __missing__(self, field: str) -> str:
        return ""


async def form_of(request: Request) -> Form:
    """Of a field that comes twice the last counts."""
    try:
        written = (await request.body()).decode()
        pairs = parse_qsl(written, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise Refused(400, f"the form cannot be read: {error}") from error
    return Form((name, value.replace("\r\n", "\n").strip()) for name, value in pairs)


async def posted(deed: Awaitable[str], again: Callable[[str], Awaitable[Response]]) -> Response:
    """Do it and lead to the address that it gives; or show the page again, with what was wrong and what to do."""
    try:
        return RedirectResponse(await deed, status_code=303)
    except FolkmootError as error:
        response = await again(str(error))
        response.status_code = status_of(error)
        return response


def person(form: Form) -> str:
    """Who is recorded to have said it: by the name they give, else whoever runs this server."""
    return form["by"] or account_name()


def find_form(name: str, operations: Iterable[OperationType]) -> OperationType:
    for operation in operations:
        if operation.form and operation.command == name:
            return operation
    raise WrongUse(f"there is no form {name!r}; use one of the buttons")


async def perform_form(operation: OperationType, house: ServerState, form: Form, **given: Any) -> Any:
    """What comes of a form that somebody sent."""
    wanted = read_operation(operation, {**_values(operation, form), **given})
    graph = house.moot.graph
    actor = by_name(form["by"], graph, "page", chance()) if form["by"] else by_account("page", chance())
    return await wanted.run(house.project, actor)


def _values(operation: OperationType, form: Form) -> dict[str, Any]:
    """Fields that are left empty are not given; several things stand in lines, or names between blanks."""
    found: dict[str, Any] = {}
    for field in fields_of(operation):
        if not (text := form[field.json_name]):
            continue
        if field.is_list:
            apart = text.replace(",", " ").split() if field.spelling.metavar else text.split("\n")
            found[field.name] = [each for line in apart if (each := line.strip())]
        else:
            found[field.name] = True if field.is_flag else text
    return found
