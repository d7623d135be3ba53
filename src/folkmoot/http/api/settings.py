"""Settings: which hold in this server, and where each comes from."""

from __future__ import annotations

import msgspec

from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.loader.options import Setting


async def list_settings(asked: Asked) -> list[Setting]:
    """Those that this server was started with; the first source that says something holds."""
    written = asked.moot.secrets.content(msgspec.json.encode(asked.moot.settings))
    return msgspec.json.decode(written, type=list[Setting])


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/settings",
        summary="Each setting with its source",
        handle=list_settings,
        answer=list[Setting],
    ),
)
