"""What speaks against a request, by its first line and headers alone. Whether it has the token is asked after this."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

from folkmoot.http.chat_errors import CHAT
from folkmoot.http.house import Door
from folkmoot.http.refusals import Refusal

_WRITING = ("POST", "PUT", "PATCH", "DELETE")
_TOKEN_NAMES = frozenset("token access_token auth authorization bearer api_key apikey".split())
_FORM = "application/x-www-form-urlencoded"


def objection(scope: Scope, door: Door, opens: Callable[[str], bool]) -> Refusal | None:
    """`opens` knows the token: it must not stand in an address, where logs and histories keep it."""
    headers = Headers(scope=scope)
    return (
        _host(scope, headers, door)
        or _foreign(scope, headers)
        or _head(scope, door)
        or _token_in_query(scope, opens)
        or _content(scope, headers)
        or _body(scope, headers, door)
    )


def _host(scope: Scope, headers: Headers, door: Door) -> Refusal | None:
    """Whoever listens on all addresses is also known by the one that was really asked: no site can fake that."""
    name = _without_port(headers.get("host", ""))
    server = scope.get("server")
    asked = f"[{server[0]}]" if server and ":" in server[0] else server[0] if server else ""
    if name in door.known_hosts or (door.is_everywhere and name == asked):
        return None
    return Refusal("host", 421, "this server does not answer under that name; start it with --name to let it")


def _foreign(scope: Scope, headers: Headers) -> Refusal | None:
    """`Origin` comes with whatever a site does by script or form, `Sec-Fetch-Site` with all that a browser asks."""
    origin = headers.get("origin")
    scheme, _, place = (origin or "").partition("://")
    own = scheme in ("http", "https") and place.lower() == headers.get("host", "").lower()
    if origin is not None and not own:
        return Refusal("origin", 403, "another site asks; only this one may")
    followed = (  # a link, which shows a page and does nothing
        scope["type"] == "http"
        and scope["method"] in ("GET", "HEAD")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not followed:
        return Refusal("origin", 403, "another site asks; only this one may")
    return None


def _head(scope: Scope, door: Door) -> Refusal | None:
    if len(scope["headers"]) > door.limits.headers:
        return Refusal("headers", 431, f"a request has at most {door.limits.headers} headers")
    lines = (
        scope["path"].encode(),
        scope["query_string"],
        *(part for pair in scope["headers"] for part in pair),
    )
    if sum(map(len, lines)) > door.limits.head:
        return Refusal("headers", 431, f"address and headers have at most {door.limits.head:,} bytes")
    return None


def _token_in_query(scope: Scope, opens: Callable[[str], bool]) -> Refusal | None:
    given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if any(name.lower() in _TOKEN_NAMES or opens(value) for name, value in given):
        return Refusal(
            "token in the query", 400, "a token does not belong in an address: Authorization: Bearer …"
        )
    return None


def _content(scope: Scope, headers: Headers) -> Refusal | None:
    """What a foreign form can send is no JSON. The page's own forms are let in too: they name their origin."""
    if scope["type"] != "http" or scope["method"] not in _WRITING:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    own = headers.get("origin") is not None and not scope["path"].startswith("/api/")
    bare = scope["method"] == "DELETE" and not kind  # which no site can make a browser send unasked
    if kind == "application/json" or (own and kind == _FORM) or bare:
        return None
    return Refusal("content type", 415, "send application/json")


def _body(scope: Scope, headers: Headers, door: Door) -> Refusal | None:
    length, most = headers.get("content-length", "0"), most_bytes(scope, door)
    if length.isascii() and length.isdecimal() and int(length[:20]) > most:
        return too_large(most)
    return None


def most_bytes(scope: Scope, door: Door) -> int:
    """That the body of a request may have."""
    return door.limits.chat_body if scope["path"].startswith(CHAT) else door.limits.body


def too_large(most: int) -> Refusal:
    remedy = f"`--max-body` of `folkmoot serve` sets how many MB, now {most / 1_000_000:g}"
    return Refusal("body", 413, f"this request may have at most {most:,} bytes; {remedy}")


def _without_port(value: str) -> str:
    name, _, port = value.rpartition(":")
    return (name if port.isdigit() and name else value).lower()
