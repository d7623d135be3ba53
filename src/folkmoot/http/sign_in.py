"""Signing in: the token, typed once, becomes a cookie that no script can read and no other site can use."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from folkmoot.http.house import house_of
from folkmoot.http.keys import STAYS
from folkmoot.http.pages.rendering import fragment

ADDRESS = "/sign-in"
_WRONG = "That is not the token of this server."


def cookie_name(scope: Scope) -> str:
    """Browsers tell hosts apart, not ports: two servers of one machine must not take each other's."""
    server = scope.get("server")
    return f"folkmoot-{server[1] if server else 0}"


def sign_in_page(*, onward: str = "/", status: int = 200, wrong: str = "") -> HTMLResponse:
    return HTMLResponse(fragment("sign_in.html", onward=_here(onward), wrong=wrong), status)


async def form(request: Request) -> Response:
    if not house_of(request).keys.needed:
        return RedirectResponse("/", 303)
    return sign_in_page(onward=request.query_params.get("onward", "/"))


async def sign_in(request: Request) -> Response:
    house = house_of(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=5)
    onward = _here(fields.get("onward", ["/"])[0])
    client = request.client.host if request.client else ""
    token = fields.get("token", [""])[0].strip()
    if not token:
        return sign_in_page(onward=onward, status=401)
    if not house.keys.opens(token):
        house.refusals.note("wrong token", client, f"{request.method} {ADDRESS}")
        waited = await house.patience.lose(client)
        return sign_in_page(onward=onward, status=401 if waited else 429, wrong=_WRONG)
    now = datetime.fromisoformat(house.clock.now()).timestamp()
    response = RedirectResponse(onward, 303)
    _set(request, response, house.keys.cookie(now), STAYS)
    return response


async def sign_out(request: Request) -> Response:
    response = RedirectResponse(ADDRESS, 303)
    _set(request, response, "", 0)
    return response


def _set(request: Request, response: Response, cookie: str, stays: int) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(request.scope), cookie, stays, httponly=True, samesite="strict", secure=secure
    )


def _here(address: str) -> str:
    """Only a path of this server: `//elsewhere` and `/\\elsewhere` are addresses of others."""
    own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if own else "/"


ROUTES = (
    Route(ADDRESS, form, methods=["GET"]),
    Route(ADDRESS, sign_in, methods=["POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
)
