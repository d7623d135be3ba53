"""Whether this server is well, and what it knows."""

from __future__ import annotations

import msgspec

from folkmoot import __version__
from folkmoot.http.operation import Asked, Operation


class Health(msgspec.Struct):
    ok: bool


class Status(msgspec.Struct, rename="camel"):
    version: str
    project: str
    position: int
    """Of the last entry of the journal."""
    refused: dict[str, int]
    """How often something was not let in since the server started, by kind."""


async def health(asked: Asked) -> Health:
    return Health(ok=True)


async def status(asked: Asked) -> Status:
    refused = dict(asked.house.refusals.counts)
    return Status(__version__, asked.moot.folder.resolve().name, await asked.moot.position(), refused)


OPERATIONS = (
    Operation(method="GET", path="/health", summary="Whether it answers", handle=health, answer=Health),
    Operation(
        method="GET",
        path="/status",
        summary="What it is, and where the journal ends",
        handle=status,
        answer=Status,
    ),
)
