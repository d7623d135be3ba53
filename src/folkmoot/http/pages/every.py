"""Every screen there is."""

from __future__ import annotations

from starlette.routing import BaseRoute

from folkmoot.http.pages import chat, conversations, decisions, inbox, runs, tasks, team, work

ROUTES: tuple[BaseRoute, ...] = (
    *runs.ROUTES,
    *inbox.ROUTES,
    *conversations.ROUTES,
    *tasks.ROUTES,
    *decisions.ROUTES,
    *team.ROUTES,
    *work.ROUTES,
    *chat.ROUTES,
)
