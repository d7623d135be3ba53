"""Who is let in: every request, stream and socket passes here before anything else looks at it.

A browser signs in: the token, typed once, becomes a cookie that no script can read and no other site can use.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qs, parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.http import problems
from folkmoot.http.limits import STAYS, RequestRefusal
from folkmoot.http.pages.rendering import render_fragment
from folkmoot.http.state import ServerOptions, ServerState, get_server_state

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: with it browsers send `Origin: null` with the forms of the page itself.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""What every answer says to browsers: nothing from elsewhere, nothing inline, nothing kept."""
SIGN_IN = "/sign-in"
OPEN = ("/api/health", SIGN_IN)
"""What needs no token, beside what lies below `/static/`."""
_NO_TOKEN = RequestRefusal("no token", 401, "send the token: Authorization: Bearer …")
_WRONG_TOKEN = RequestRefusal("wrong token", 401, "this is not the token of this server")
_TOO_MUCH = RequestRefusal("body", 503, "too many large requests are being answered; come later")
_LATER = RequestRefusal("wrong token", 429, "too many wrong tokens come at once; wait a little")
_WRITING = ("POST", "PUT", "PATCH", "DELETE")
_TOKEN_NAMES = frozenset("token access_token auth authorization bearer api_key apikey".split())
_FORM = "application/x-www-form-urlencoded"


class HttpGuard:
    def __init__(self, app: ASGIApp, house: ServerState) -> None:
        self._app = app
        self._house = house
        self._bytes = 0
        """Of the bodies of all requests that are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        house, send = self._house, _add_security_headers(send)
        refusal = _find_refusal(scope, house.door, house.keys.opens) or await self._without_token(scope)
        if refusal is None:
            came = [0]
            try:
                await house.streams.through(self._app, scope, self._measured(scope, receive, came), send)
            finally:
                self._bytes -= came[0]
        else:
            self._note(refusal, scope)
            await _build_refusal_response(refusal, scope)(scope, receive, send)

    async def _without_token(self, scope: Scope) -> RequestRefusal | None:
        """A cookie that has run out is no attempt at anything; a token that is wrong is waited with."""
        keys, path = self._house.keys, scope["path"]
        if not keys.needed or path in OPEN or path.startswith("/static/"):
            return None
        asking = HTTPConnection(scope)
        kind, _, given = asking.headers.get("authorization", "").partition(" ")
        if not kind and (key := asking.headers.get("x-api-key")):  # what Anthropic's clients send
            kind, given = "bearer", key
        if kind.lower() == "bearer" and keys.opens(given.strip()):
            return None
        now = datetime.fromisoformat(self._house.clock.now()).timestamp()
        if keys.holds(asking.cookies.get(cookie_name(scope), ""), now):
            return None
        if not kind:
            return _NO_TOKEN
        return _WRONG_TOKEN if await self._house.throttle.delay(_client_address(scope)) else _LATER

    def _measured(self, scope: Scope, receive: Receive, came: list[int]) -> Receive:
        """A body that does not say how long it is, is counted while it is read, in `came[0]`."""
        if scope["type"] != "http":
            return receive
        most, together = _max_body_bytes(scope, self._house.door), self._house.door.limits.bodies

        async def receiving() -> Message:
            message = await receive()
            size = len(message.get("body", b""))
            came[0] += size
            self._bytes += size
            if (alone := came[0] > most) or self._bytes > together:
                refusal = _build_too_large_refusal(most) if alone else _TOO_MUCH
                self._note(refusal, scope)
                raise problems.HttpError(refusal.status, refusal.words, {"connection": "close"})
            return message

        return receiving

    def _note(self, refusal: RequestRefusal, scope: Scope) -> None:
        """Without the query: a token may stand there."""
        what = f"{scope.get('method', 'WebSocket')} {scope['path']}"
        if refusal.kind in ("host", "origin"):
            what += f" {refusal.kind} {Headers(scope=scope).get(refusal.kind)}"
        self._house.refusals.note(refusal.kind, _client_address(scope), what)


def _build_refusal_response(refusal: RequestRefusal, scope: Scope) -> ASGIApp:
    """Whoever wants a page and has no token can type it there and then."""
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    if refusal is _NO_TOKEN and scope["type"] == "http" and scope["method"] == "GET" and wants_page:
        query = scope["query_string"].decode("latin-1")
        return sign_in_page(onward=f"{scope['path']}{'?' if query else ''}{query}", status=401)
    headers = {"connection": "close"} if refusal.status in (413, 431) else {}
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    if scope["path"].startswith(problems.CHAT):
        return problems.chat_response(
            scope, problems.ChatError(refusal.status, refusal.words, headers=headers)
        )
    return problems.problem_response(refusal.status, refusal.words, headers)


def _client_address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _add_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if "etag" in headers:  # the same for everybody: kept, and asked for each time
                headers["cache-control"] = "no-cache"
        await send(message)

    return sending


def _find_refusal(scope: Scope, door: ServerOptions, opens: Callable[[str], bool]) -> RequestRefusal | None:
    """What speaks against a request, by its first line and headers alone; whether it has the token is asked after this.
    `opens` knows the token: it must not stand in an address, where logs and histories keep it."""
    headers = Headers(scope=scope)
    return (
        _refuse_unknown_host(scope, headers, door)
        or _refuse_foreign_origin(scope, headers)
        or _refuse_long_headers(scope, door)
        or _refuse_query_token(scope, opens)
        or _refuse_content_type(scope, headers)
        or _refuse_long_body(scope, headers, door)
    )


def _refuse_unknown_host(scope: Scope, headers: Headers, door: ServerOptions) -> RequestRefusal | None:
    """Whoever listens on all addresses is also known by the one that was really asked: no site can fake that."""
    name = _strip_port(headers.get("host", ""))
    server = scope.get("server")
    asked = f"[{server[0]}]" if server and ":" in server[0] else server[0] if server else ""
    if name in door.known_hosts or (door.is_everywhere and name == asked):
        return None
    return RequestRefusal(
        "host", 421, "this server does not answer under that name; start it with --name to let it"
    )


def _refuse_foreign_origin(scope: Scope, headers: Headers) -> RequestRefusal | None:
    """`Origin` comes with whatever a site does by script or form, `Sec-Fetch-Site` with all that a browser asks."""
    origin = headers.get("origin")
    scheme, _, place = (origin or "").partition("://")
    own = scheme in ("http", "https") and place.lower() == headers.get("host", "").lower()
    if origin is not None and not own:
        return RequestRefusal("origin", 403, "another site asks; only this one may")
    followed = (  # a link, which shows a page and does nothing
        scope["type"] == "http"
        and scope["method"] in ("GET", "HEAD")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not followed:
        return RequestRefusal("origin", 403, "another site asks; only this one may")
    return None


def _refuse_long_headers(scope: Scope, door: ServerOptions) -> RequestRefusal | None:
    if len(scope["headers"]) > door.limits.headers:
        return RequestRefusal("headers", 431, f"a request has at most {door.limits.headers} headers")
    lines = (
        scope["path"].encode(),
        scope["query_string"],
        *(part for pair in scope["headers"] for part in pair),
    )
    if sum(map(len, lines)) > door.limits.head:
        return RequestRefusal("headers", 431, f"address and headers have at most {door.limits.head:,} bytes")
    return None


def _refuse_query_token(scope: Scope, opens: Callable[[str], bool]) -> RequestRefusal | None:
    given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if any(name.lower() in _TOKEN_NAMES or opens(value) for name, value in given):
        return RequestRefusal(
            "token in the query", 400, "a token does not belong in an address: Authorization: Bearer …"
        )
    return None


def _refuse_content_type(scope: Scope, headers: Headers) -> RequestRefusal | None:
    """What a foreign form can send is no JSON. The page's own forms are let in too: they name their origin."""
    if scope["type"] != "http" or scope["method"] not in _WRITING:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    own = headers.get("origin") is not None and not scope["path"].startswith("/api/")
    bare = scope["method"] == "DELETE" and not kind  # which no site can make a browser send unasked
    if kind == "application/json" or (own and kind == _FORM) or bare:
        return None
    return RequestRefusal("content type", 415, "send application/json")


def _refuse_long_body(scope: Scope, headers: Headers, door: ServerOptions) -> RequestRefusal | None:
    length, most = headers.get("content-length", "0"), _max_body_bytes(scope, door)
    if length.isascii() and length.isdecimal() and int(length[:20]) > most:
        return _build_too_large_refusal(most)
    return None


def _max_body_bytes(scope: Scope, door: ServerOptions) -> int:
    """That the body of a request may have."""
    return door.limits.chat_body if scope["path"].startswith(problems.CHAT) else door.limits.body


def _build_too_large_refusal(most: int) -> RequestRefusal:
    remedy = f"`--max-body` of `folkmoot serve` sets how many MB, now {most / 1_000_000:g}"
    return RequestRefusal("body", 413, f"this request may have at most {most:,} bytes; {remedy}")


def _strip_port(value: str) -> str:
    name, _, port = value.rpartition(":")
    return (name if port.isdigit() and name else value).lower()


def cookie_name(scope: Scope) -> str:
    """Browsers tell hosts apart, not ports: two servers of one machine must not take each other's."""
    server = scope.get("server")
    return f"folkmoot-{server[1] if server else 0}"


def sign_in_page(*, onward: str = "/", status: int = 200, wrong: str = "") -> HTMLResponse:
    return HTMLResponse(render_fragment("sign_in.html", onward=_to_local_path(onward), wrong=wrong), status)


async def sign_in_form(request: Request) -> Response:
    if not get_server_state(request).keys.needed:
        return RedirectResponse("/", 303)
    return sign_in_page(onward=request.query_params.get("onward", "/"))


async def sign_in(request: Request) -> Response:
    house = get_server_state(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=5)
    onward = _to_local_path(fields.get("onward", ["/"])[0])
    client = _client_address(request.scope)
    token = fields.get("token", [""])[0].strip()
    if not token:
        return sign_in_page(onward=onward, status=401)
    if not house.keys.opens(token):
        house.refusals.note("wrong token", client, f"{request.method} {SIGN_IN}")
        waited = await house.throttle.delay(client)
        return sign_in_page(
            onward=onward, status=401 if waited else 429, wrong="That is not the token of this server."
        )
    now = datetime.fromisoformat(house.clock.now()).timestamp()
    response = RedirectResponse(onward, 303)
    _set_cookie(request, response, house.keys.cookie(now), STAYS)
    return response


async def sign_out(request: Request) -> Response:
    response = RedirectResponse(SIGN_IN, 303)
    _set_cookie(request, response, "", 0)
    return response


def _set_cookie(request: Request, response: Response, cookie: str, stays: int) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(request.scope), cookie, stays, httponly=True, samesite="strict", secure=secure
    )


def _to_local_path(address: str) -> str:
    """Only a path of this server: `//elsewhere` and `/\\elsewhere` are addresses of others."""
    own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if own else "/"


SIGN_IN_ROUTES = (
    Route(SIGN_IN, sign_in_form, methods=["GET"]),
    Route(SIGN_IN, sign_in, methods=["POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
)
