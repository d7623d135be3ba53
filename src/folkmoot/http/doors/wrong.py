"""What went wrong with a chat client's request, in the form that its kind of client reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from folkmoot.errors import FolkmootError
from folkmoot.http.problems import Refused, status_of

CHAT = "/v1/"
"""Below which answers have the form of these clients, errors too."""
_ANTHROPIC = "/v1/messages"
_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
NO_RETRY = {"x-should-retry": "false"}
"""The official clients send a request again after a 409 or 5xx, which would run and pay for everything once more."""


class Wrong(FolkmootError):
    """`param` is what of the request is wrong; `code` is a word that such clients know, or empty."""

    code = ""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.param = status, param
        self.headers = dict(headers or {})
        super().__init__(message, code=code)


def wrong(error: FolkmootError) -> Wrong:
    """Any error as one that can be told to a client."""
    if isinstance(error, Wrong):
        return error
    headers = error.headers if isinstance(error, Refused) else {}
    return Wrong(status_of(error), str(error), headers=headers)


def response(scope: Scope, error: Wrong) -> Response:
    told = anthropic_error(error) if is_anthropic(scope) else openai_error(error)
    return Response(msgspec.json.encode(told), error.status, error.headers, media_type="application/json")


def is_anthropic(scope: Scope) -> bool:
    """Whether a client of theirs asks, and not one of OpenAI's."""
    return scope["path"].startswith(_ANTHROPIC) or "anthropic-version" in Headers(scope=scope)


def openai_error(error: Wrong) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "server_error"
    return {
        "error": {
            "message": str(error),
            "type": _OPENAI_TYPES.get(error.status, usual),
            "param": error.param,
            "code": error.code or None,
        }
    }


def anthropic_error(error: Wrong) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "api_error"
    kind = _ANTHROPIC_TYPES.get(error.status, usual)
    return {"type": "error", "error": {"type": kind, "message": str(error)}}
