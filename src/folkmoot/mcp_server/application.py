"""The server behind HTTP, as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from folkmoot.app import Folkmoot
from folkmoot.mcp_server.server import mcp_server

PATH = "/mcp"


def mcp_app(moot: Folkmoot, agents: Sequence[str] = (), *, guarded: bool = False) -> Starlette:
    """Streamable HTTP at `/mcp`.

    By itself it answers only under the names of this machine, so that no web page can reach it; `guarded` says that
    whoever takes it in sees to that. They take over its `routes`, and enter `app.router.lifespan_context(app)` for as
    long as they serve: the sessions of clients live in it, and their runs are cancelled with it.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return mcp_server(moot, agents).streamable_http_app(
        streamable_http_path=PATH, transport_security=unchecked if guarded else None
    )
