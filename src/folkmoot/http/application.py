"""The server as one ASGI application: guard, API, streams, pages."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.api.every import OPERATIONS
from folkmoot.http.guard import Guard
from folkmoot.http.house import House
from folkmoot.http.openapi import ROUTES as DOCUMENT
from folkmoot.http.operation import route
from folkmoot.http.pages.every import ROUTES as PAGES


def application(house: House) -> Starlette:
    static = StaticFiles(directory=Path(__file__).parent / "static")
    app = Starlette(
        routes=[*DOCUMENT, *map(route, OPERATIONS), Mount("/static", static, name="static"), *PAGES],
        middleware=[Middleware(Guard, door=house.door, key=house.key)],
        exception_handlers={
            FolkmootError: problems.on_folkmoot_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_surprise,
        },
    )
    app.state.house = house
    return app
