"""Who is let in: every request, stream and socket passes here before anything else looks at it."""

from __future__ import annotations

from collections.abc import MutableMapping
from hmac import compare_digest
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.http import problems
from folkmoot.http.house import Door

OPEN = ("/api/health", "/sign-in", "/static/")
"""What needs no token."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_WRITING = ("POST", "PUT", "PATCH", "DELETE")


class Guard:
    def __init__(self, app: ASGIApp, door: Door, key: bytes) -> None:
        self._app = app
        self._door = door
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refused = self._objection(scope)
        if refused is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})
        else:
            await problems.response(*refused)(scope, receive, _with_headers(send))

    def _objection(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the words, if it is not let in."""
        headers = Headers(scope=scope)
        if _host(headers.get("host", "")) not in self._door.known_hosts:
            return 421, "this server does not answer under that name"
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower():
            return 403, "another site asks; only this one may"
        if scope["type"] == "http" and scope["method"] in _WRITING and not _plain_json(scope, headers):
            return 415, "send application/json"
        if not self._door.token or scope["path"].startswith(OPEN):
            return None
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if compare_digest(given.encode(), self._door.token.encode()):
            return None
        return 401, "send the token: Authorization: Bearer …"


def _host(value: str) -> str:
    name, _, port = value.rpartition(":")
    return (name if port.isdigit() and name else value).lower()


def _plain_json(scope: MutableMapping[str, Any], headers: Headers) -> bool:
    """A form of the page itself is let in too: its origin was checked."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    own = headers.get("origin") is not None and not scope["path"].startswith("/api/")
    return kind == "application/json" or (own and kind == "application/x-www-form-urlencoded")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
