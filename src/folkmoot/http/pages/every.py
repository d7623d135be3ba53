"""Every screen there is."""

from __future__ import annotations

from starlette.routing import BaseRoute

from folkmoot.http.pages import run, run_change, runs, start

ROUTES: tuple[BaseRoute, ...] = (*runs.ROUTES, *run_change.ROUTES, *start.ROUTES, *run.ROUTES)
