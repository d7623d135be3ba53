"""Forms: plain POSTs of the page itself. What was done is looked at elsewhere; what was not is shown in its form."""

from __future__ import annotations

import getpass
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from folkmoot.errors import FolkmootError
from folkmoot.http.problems import Refused, status_of

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
    if name := form["by"]:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"
