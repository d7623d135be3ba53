"""The page: one file per screen, each with its `ROUTES`, and all of them together."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from folkmoot.http.pages import (
    conversations,
    costs,
    docs,
    events,
    graph,
    inbox,
    records,
    run,
    run_forms,
    runs,
    work,
)
from folkmoot.http.pages.rendering import render_page


async def show_more(request: Request) -> Response:
    """Every screen and every key: where a phone has no room for more tabs, and for whoever asks for the keys."""
    return render_page(request, "more.html")


ROUTES: tuple[BaseRoute, ...] = (
    *runs.ROUTES,
    *run_forms.ROUTES,
    *run.ROUTES,
    *inbox.ROUTES,
    *conversations.ROUTES,
    *records.ROUTES,
    *work.ROUTES,
    *graph.ROUTES,
    *costs.ROUTES,
    *events.ROUTES,
    Route("/more", show_more),
    *docs.ROUTES,
)
