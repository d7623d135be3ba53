"""What can happen in a team."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from folkmoot.domain.event import Cause, Event
from folkmoot.domain.report import Outcome


class TeamStarted(Event):
    """A team begins in place of its file's own session; what its lead and members do is told below it."""

    type = "team.started"
    lead: str
    members: tuple[str, ...]
    parent: str = ""
    """The session that caused it."""
    cause: Cause = ""
    title: str = ""


class TeamCalled(Event):
    """A member or the lead is called for its part of a cycle. What it reads now, it never reads again."""

    type = "team.called"
    member_id: str
    cycle: int
    reads: tuple[int, ...] = ()
    """The broadcasts that go into its prompt, by their order: all it has not read before."""
    dropped: tuple[int, ...] = ()
    """Those of them that would overflow its context; a diagnostic stands in their place, and the team must end."""


class TeamBroadcast(Event):
    """Somebody speaks to the whole team, at the time of the entry; everyone else reads it once, before a turn."""

    type = "team.broadcast"
    kind: Literal["update", "failure"] = field(name="type")
    member_id: str
    message: str
    turn_count: int
    """Turns that the sender has taken so far."""
    order: int
    """The place in the team's transcript, by cycle and then as the members are declared; the lead comes last."""
    terminal: bool = False
    """The sender has left the team with it."""
    outcome: Literal["", "success", "failure"] = ""
    """With `terminal`."""


class TeamMemberExited(Event):
    """A member has done its part and left the team."""

    type = "team.member_exited"
    member_id: str


class TeamMemberFailed(Event):
    """A member gave up, broke down or used up its turns, and is no longer in the team."""

    type = "team.member_failed"
    member_id: str
    reason: str


class TeamCancelled(Event):
    """The members that were still in the team are let go."""

    type = "team.cancelled"
    members: tuple[str, ...]
    reason: str
    by: Literal["", "run", "lead"] = ""
    """Whether the run was cancelled or the lead has ended; empty in old journals."""


class TeamCompleted(Event):
    """The lead has reported, or failed to; that is the end of the team."""

    type = "team.completed"
    outcome: Outcome
