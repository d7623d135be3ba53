"""Artifacts: content by its hash, sent so that no browser takes it for a page."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from folkmoot.http.operation import Asked, Operation
from folkmoot.http.problems import NotFound

_HASH = 64


async def show_artifact(asked: Asked) -> Response:
    """JSON as such, everything else as plain text; always to be saved, never to be run."""
    if len(asked.id) != _HASH or not asked.id.isalnum():
        raise NotFound(f"there is no artifact {asked.id!r}")
    try:
        content = await asked.desks.journal.artifact(asked.id)
    except KeyError:
        raise NotFound(f"there is no artifact {asked.id!r}") from None
    json = _is_json(content)
    headers = {
        "content-disposition": f'attachment; filename="{asked.id[:16]}.{"json" if json else "txt"}"',
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(content, 200, headers, media_type="application/json" if json else "text/plain")


def _is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


OPERATIONS = (
    Operation(
        method="GET",
        path="/artifacts/{id}",
        summary="Content by its hash",
        handle=show_artifact,
        media=("application/json", "text/plain"),
    ),
)
