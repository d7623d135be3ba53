"""Errors in the forms that the clients of OpenAI's and Anthropic's APIs read."""

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
"""Below this path every answer, an error too, has the form of these clients."""
_ANTHROPIC = "/v1/messages"
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {**_TYPES, 413: "request_too_large", 503: "overloaded_error"}
NO_RETRY = {"x-should-retry": "false"}
"""The official clients send a request again after a 409 or 5xx, which would run and pay for everything once more."""


class ChatError(Refused):
    """`param` names the wrong part of the request; `code` is a word that such clients know, or empty."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.param = param
        super().__init__(status, message, headers, code=code)


def as_chat_error(error: FolkmootError) -> ChatError:
    if isinstance(error, ChatError):
        return error
    headers = error.headers if isinstance(error, Refused) else {}
    return ChatError(status_of(error), str(error), headers=headers)


def error_response(scope: Scope, error: ChatError) -> Response:
    body = anthropic_error(error) if is_anthropic(scope) else openai_error(error)
    return Response(msgspec.json.encode(body), error.status, error.headers, media_type="application/json")


def is_anthropic(scope: Scope) -> bool:
    """Whether a client of Anthropic's API asks, not one of OpenAI's."""
    return scope["path"].startswith(_ANTHROPIC) or "anthropic-version" in Headers(scope=scope)


def openai_error(error: ChatError) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "server_error"
    kind = _TYPES.get(error.status, usual)
    return {"error": {"message": str(error), "type": kind, "param": error.param, "code": error.code or None}}


def anthropic_error(error: ChatError) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "api_error"
    kind = _ANTHROPIC_TYPES.get(error.status, usual)
    return {"type": "error", "error": {"type": kind, "message": str(error)}}
