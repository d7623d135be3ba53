"""What goes wrong with a page is told on a page: what it is, and a way on. Programs get problem details."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from folkmoot.http.pages.rendering import page
from folkmoot.http.problems import ProblemDetails

Handle = Callable[[Request, Exception], Awaitable[Response]]


def for_people(handle: Handle) -> Handle:
    """The same answer, as a page for whoever looks with a browser."""

    async def handled(request: Request, error: Exception) -> Response:
        answer = await handle(request, error)
        if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
            return answer
        problem = msgspec.json.decode(answer.body, type=ProblemDetails)
        shown = page(request, "problem.html", screen="", title=problem.title, problem=problem)
        shown.status_code = answer.status_code
        return shown

    return handled
