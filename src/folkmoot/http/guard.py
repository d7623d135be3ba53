"""Who is let in: every request, stream and socket passes here before anything else looks at it."""

from __future__ import annotations

from datetime import datetime

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.http import problems
from folkmoot.http.chat_errors import CHAT, ChatError, error_response
from folkmoot.http.headers import with_headers
from folkmoot.http.house import House
from folkmoot.http.objections import most_bytes, objection, too_large
from folkmoot.http.refusals import Refusal
from folkmoot.http.sign_in import ADDRESS, cookie_name, sign_in_page

OPEN = ("/api/health", ADDRESS)
"""What needs no token, beside what lies below `/static/`."""
_NO_TOKEN = Refusal("no token", 401, "send the token: Authorization: Bearer …")
_WRONG_TOKEN = Refusal("wrong token", 401, "this is not the token of this server")
_TOO_MUCH = Refusal("body", 503, "too many large requests are being answered; come later")
_LATER = Refusal("wrong token", 429, "too many wrong tokens come at once; wait a little")


class Guard:
    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house
        self._bytes = 0
        """Of the bodies of all requests that are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        house, send = self._house, with_headers(send)
        refusal = objection(scope, house.door, house.keys.opens) or await self._without_token(scope)
        if refusal is None:
            came = [0]
            try:
                await house.streams.through(self._app, scope, self._measured(scope, receive, came), send)
            finally:
                self._bytes -= came[0]
        else:
            self._note(refusal, scope)
            await _answer(refusal, scope)(scope, receive, send)

    async def _without_token(self, scope: Scope) -> Refusal | None:
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
        return _WRONG_TOKEN if await self._house.patience.lose(_client(scope)) else _LATER

    def _measured(self, scope: Scope, receive: Receive, came: list[int]) -> Receive:
        """A body that does not say how long it is, is counted while it is read, in `came[0]`."""
        if scope["type"] != "http":
            return receive
        most, together = most_bytes(scope, self._house.door), self._house.door.limits.bodies

        async def receiving() -> Message:
            message = await receive()
            size = len(message.get("body", b""))
            came[0] += size
            self._bytes += size
            if (alone := came[0] > most) or self._bytes > together:
                refusal = too_large(most) if alone else _TOO_MUCH
                self._note(refusal, scope)
                raise problems.Refused(refusal.status, refusal.words, {"connection": "close"})
            return message

        return receiving

    def _note(self, refusal: Refusal, scope: Scope) -> None:
        """Without the query: a token may stand there."""
        what = f"{scope.get('method', 'WebSocket')} {scope['path']}"
        if refusal.kind in ("host", "origin"):
            what += f" {refusal.kind} {Headers(scope=scope).get(refusal.kind)}"
        self._house.refusals.note(refusal.kind, _client(scope), what)


def _answer(refusal: Refusal, scope: Scope) -> ASGIApp:
    """Whoever wants a page and has no token can type it there and then."""
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    if refusal is _NO_TOKEN and scope["type"] == "http" and scope["method"] == "GET" and wants_page:
        query = scope["query_string"].decode("latin-1")
        return sign_in_page(onward=f"{scope['path']}{'?' if query else ''}{query}", status=401)
    headers = {"connection": "close"} if refusal.status in (413, 431) else {}
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    if scope["path"].startswith(CHAT):
        return error_response(scope, ChatError(refusal.status, refusal.words, headers=headers))
    return problems.response(refusal.status, refusal.words, headers)


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""
