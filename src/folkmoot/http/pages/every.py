"""Every screen there is."""

from __future__ import annotations

from starlette.routing import BaseRoute

from folkmoot.http.pages import (
    chat,
    conversations,
    costs,
    decisions,
    docs,
    events,
    graph,
    inbox,
    more,
    rail,
    run,
    run_change,
    runs,
    start,
    tasks,
    team,
    teamwork,
    work,
)

ROUTES: tuple[BaseRoute, ...] = (
    *runs.ROUTES,
    *run_change.ROUTES,
    *start.ROUTES,
    *run.ROUTES,
    *inbox.ROUTES,
    *conversations.ROUTES,
    *tasks.ROUTES,
    *teamwork.ROUTES,
    *work.ROUTES,
    *chat.ROUTES,
    *decisions.ROUTES,
    *graph.ROUTES,
    *team.ROUTES,
    *costs.ROUTES,
    *events.ROUTES,
    *more.ROUTES,
    *rail.ROUTES,
    *docs.ROUTES,
)
