"""The agent sessions of a run as a list, children after their parents."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.domain.value import Value
from folkmoot.views.livetree import Branch


class SessionRow(Value, omit_defaults=False):
    id: str
    status: str
    agent_id: str
    parent_id: str | None
    cause: str | None
    span: str
    turns: int
    tokens: int
    cost_usd: float
    started_at: str
    ended_at: str | None
    error: str | None


def session_rows(root: Branch, unended: str) -> list[SessionRow]:
    """`unended` says what a session without an end is: running, waiting or interrupted."""
    return [_row(branch, parent, unended) for branch, parent in _with_parents(root)]


def status_of(branch: Branch, unended: str) -> str:
    return branch.status if branch.ended_at or unended == "running" else unended


def _with_parents(branch: Branch, parent: str | None = None) -> Iterator[tuple[Branch, str | None]]:
    yield branch, parent
    for child in branch.children:
        yield from _with_parents(child, branch.id)


def _row(branch: Branch, parent: str | None, unended: str) -> SessionRow:
    return SessionRow(
        id=branch.id,
        status=status_of(branch, unended),
        agent_id=branch.agent,
        parent_id=parent,
        cause=branch.cause or None,
        span=branch.span,
        turns=branch.turn,
        tokens=branch.tokens,
        cost_usd=branch.cost_usd,
        started_at=branch.started_at,
        ended_at=branch.ended_at or None,
        error=branch.note if branch.status in ("failed", "cancelled") else None,
    )
