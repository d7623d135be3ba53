"""What a chat client sends, read as far as it matters here: fields that nobody knows are let be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict
from starlette.requests import Request

from folkmoot.domain.message import ToolCall
from folkmoot.domain.part import File
from folkmoot.errors import WrongUse
from folkmoot.http.doors.wrong import Wrong
from folkmoot.http.inline_files import file_of
from folkmoot.http.problems import Refused
from folkmoot.http.reading import body_of

T = TypeVar("T", bound=msgspec.Struct)
P = TypeVar("P", bound=msgspec.Struct)
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


def apart(content: str | list[P] | None, param: str) -> tuple[str | list[P] | None, tuple[File, ...]]:
    """The parts of what a user says, and the files that stand among them. Raises `Wrong` for one that cannot be had."""
    if not isinstance(content, list):
        return content, ()
    rest: list[P] = []
    files: list[File] = []
    for number, part in enumerate(content):
        try:
            file = file_of(asdict(part))
        except WrongUse as error:
            raise Wrong(400, str(error), param=f"{param}[{number}]") from error
        if file:
            files.append(file)
        else:
            rest.append(part)
    return rest, tuple(files)


def call(id: str, name: str, arguments: str) -> ToolCall:
    """Of a client's tool, as the client repeats it."""
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return ToolCall(id, name, malformed=arguments)
    return ToolCall(id, name, given)
