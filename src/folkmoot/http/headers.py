"""What every answer of this server says to browsers: nothing from elsewhere, nothing inline, nothing kept."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

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


def with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if "etag" in headers:  # the same for everybody: kept, and asked for each time
                headers["cache-control"] = "no-cache"
        await send(message)

    return sending
