"""Artifacts: content by its hash, sent so that no browser takes it for a page."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from folkmoot.domain.part import media_of
from folkmoot.errors import NotFound
from folkmoot.http.endpoint import Asked, Endpoint

_HASH = 64
_UNKNOWN = "application/octet-stream"
_ENDINGS = {
    "application/json": "json",
    "text/plain": "txt",
    "application/pdf": "pdf",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    _UNKNOWN: "bin",
}


async def show_artifact(asked: Asked) -> Response:
    """As what its content shows that it is; always to be saved, never to be run."""
    if len(asked.id) != _HASH or not asked.id.isalnum():
        raise NotFound(f"there is no artifact {asked.id!r}", code="artifact_not_found")
    try:
        content = await asked.desks.journal.artifact(asked.id)
    except KeyError:
        raise NotFound(f"there is no artifact {asked.id!r}", code="artifact_not_found") from None
    media = "application/json" if _is_json(content) else media_of(content) or _UNKNOWN
    headers = {
        "content-disposition": f'attachment; filename="{asked.id[:16]}.{_ENDINGS[media]}"',
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(content, 200, headers, media_type=media)


def _is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/artifacts/{id}",
        summary="Content by its hash",
        handle=show_artifact,
        media=tuple(_ENDINGS),
    ),
)
