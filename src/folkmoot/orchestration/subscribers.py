"""The seam for whoever wants to know what goes on in teams: voting, swarms, metrics. The core knows none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from folkmoot.domain.event import Event
from folkmoot.domain.spans import without_cycle
from folkmoot.domain.team_events import TeamBroadcast, TeamMemberExited, TeamMemberFailed


class TeamSubscriber(Protocol):
    """Told as it happens, in the order of the journal. `team` is the run and the span of the team."""

    def on_member_broadcast(self, team: tuple[str, str], broadcast: TeamBroadcast) -> None: ...

    def on_member_exit(self, team: tuple[str, str], member_id: str, reason: str) -> None:
        """A member is no longer in the team; without a reason it has done its part."""


def told(subscriber: TeamSubscriber, run: str) -> Callable[[str, Event], None]:
    """A watcher of a run's log that tells the subscriber."""

    def watch(span: str, event: Event) -> None:
        team = (run, without_cycle(span).rpartition("/")[0])
        match event:
            case TeamBroadcast():
                subscriber.on_member_broadcast(team, event)
            case TeamMemberExited(member_id=member):
                subscriber.on_member_exit(team, member, "")
            case TeamMemberFailed(member_id=member, reason=reason):
                subscriber.on_member_exit(team, member, reason)

    return watch
