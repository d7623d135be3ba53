"""The agents of a run as rows: for the live tree of the terminal, and as the list of its sessions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from folkmoot.domain.value import Value
from folkmoot.views.run_nodes import Branch


class Row(msgspec.Struct, frozen=True):
    guide: str
    """The lines that lead from the parent to this branch."""
    branch: Branch
    parent: str | None = None
    """The session of the branch above."""


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


def rows(branch: Branch, guide: str = "", below: str = "", parent: str | None = None) -> Iterator[Row]:
    """A branch and all below it, each with the lines that a terminal draws before it."""
    yield Row(guide, branch, parent)
    for child in branch.children:
        last = child is branch.children[-1]
        lines = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from rows(child, below + lines[0], below + lines[1], branch.id)


def open_rows(all_rows: list[Row]) -> list[Row]:
    """Only the branches that are not over, and those on the way to them."""
    spans = [row.branch.span for row in all_rows if not row.branch.ended_at]
    return [row for row in all_rows if any(f"{span}/".startswith(f"{row.branch.span}/") for span in spans)]


def status_of(branch: Branch, unended: str) -> str:
    """`unended` says what a session without an end is: running, waiting or interrupted."""
    return branch.status if branch.ended_at or unended == "running" else unended


def session_rows(root: Branch, unended: str) -> list[SessionRow]:
    """Children stand after their parents."""
    return [_session_row(row.branch, row.parent, unended) for row in rows(root)]


def _session_row(branch: Branch, parent: str | None, unended: str) -> SessionRow:
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
