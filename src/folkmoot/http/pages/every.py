"""Every screen there is."""

from __future__ import annotations

from starlette.routing import BaseRoute

from folkmoot.http.pages import costs, events, graph, more, runs

ROUTES: tuple[BaseRoute, ...] = (*runs.ROUTES, *graph.ROUTES, *events.ROUTES, *costs.ROUTES, *more.ROUTES)
