"""What the gate must know of the rest of a run: what was allowed for all of it, and how fast an agent goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from folkmoot.domain.budget import Room
from folkmoot.domain.event import Event
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalRequested, ApprovalRevoked
from folkmoot.orchestration.log import RunLog

WINDOW = timedelta(seconds=60)


class Grants:
    """The calls that somebody allowed for the whole run, folded from its events."""

    takes: ClassVar[tuple[type[Event], ...]] = (ApprovalRequested, ApprovalApproved, ApprovalRevoked)

    def __init__(self) -> None:
        self.granted: dict[str, str] = {}
        """By hash: the approval, and who gave it."""
        self._asked: dict[str, str] = {}

    def fold(self, span: str, event: Event) -> None:
        match event:
            case ApprovalRequested(id=id, hash=hash):
                self._asked[id] = hash
            case ApprovalApproved(id=id, by=by, scope="run"):
                self.granted[self._asked[id]] = f"{id} by {by}" if by else id
            case ApprovalRevoked(id=id):
                self.granted.pop(self._asked[id], None)


def pace(log: RunLog, agent: str, most: int | None, now: str) -> Room:
    """How many more calls an agent may make now; by the times in the journal, so that a resumed run knows them."""
    if most is None:
        return Room()
    until, made = datetime.fromisoformat(now), list[datetime]()
    for draft in reversed(log.drafts):
        at = datetime.fromisoformat(draft.ts)
        if until - at >= WINDOW:
            break
        if draft.agent_id == agent and isinstance(draft.event, ToolStarted):
            made.append(at)
    oldest = made[most - 1] if len(made) >= most else until
    again = (oldest + WINDOW - until).total_seconds()
    limit = f"{most} tool calls a minute (limits.toolCallsPerMinute); try again in {again:.0f} s"
    return Room(most - len(made), limit)
