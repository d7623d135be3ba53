"""What a chat client sends, read as far as it matters here: fields that nobody knows are let be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from folkmoot.domain.message import ToolCall
from folkmoot.http.doors.wrong import Wrong
from folkmoot.http.problems import Refused
from folkmoot.http.reading import body_of

T = TypeVar("T", bound=msgspec.Struct)
INSTRUCTING = ("system", "developer")
"""The roles whose messages tell how to answer, and ask nothing."""
WORK_SESSION = "x-folkmoot-work-session"
_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `(\w+)`")
_SESSION = re.compile("ws_[A-Za-z0-9_-]+")


async def body(request: Request, type: type[T]) -> T:
    """Raises `Wrong` that names what of it is wrong."""
    try:
        return body_of(await request.body(), type)
    except Refused as error:
        place, missing = _PLACE.search(str(error)), _MISSING.search(str(error))
        names = [found[1] for found in (place, missing) if found]
        raise Wrong(error.status, str(error), param=".".join(names) or None) from error


def work_session(request: Request, metadata: Mapping[str, str] | None) -> str:
    """Which the client names; empty if it names none."""
    named = request.headers.get(WORK_SESSION) or (metadata or {}).get("work_session", "")
    if named and not _SESSION.fullmatch(named):
        raise Wrong(400, f"{named!r} is no work session; their names begin with ws_", param="metadata")
    return named


def converted(given: Any, type: type[T], place: str) -> T:
    """A part of a body that is read apart from the rest. Raises `Wrong`."""
    try:
        return msgspec.convert(given, type)
    except msgspec.ValidationError as error:
        found = _PLACE.search(str(error))
        param = ".".join((place, *([found[1]] if found else ())))
        raise Wrong(
            400, f"{param} is not what is wanted: {_PLACE.sub('', str(error))}", param=param
        ) from error


def number_of_request(roles: Sequence[str]) -> int:
    """The number of the message that a client asks with: the last one, if a user says it; -1 if there is none."""
    spoken = [number for number, role in enumerate(roles) if role not in INSTRUCTING]
    return spoken[-1] if spoken and roles[spoken[-1]] == "user" else -1


def call(id: str, name: str, arguments: str) -> ToolCall:
    """Of a client's tool, as the client repeats it."""
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return ToolCall(id, name, malformed=arguments)
    return ToolCall(id, name, given)
