"""Makes what all agents of a run share, from the project, the place of this process and who listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from folkmoot.domain.entry import Event
from folkmoot.domain.spans import parent_span, without_cycle
from folkmoot.domain.team_events import TeamBroadcast, TeamMemberExited, TeamMemberFailed
from folkmoot.domain.value import Value
from folkmoot.engine.activation import Project
from folkmoot.engine.identity import Identity
from folkmoot.engine.owner import LEASE
from folkmoot.orchestration.inbox import Attendance, Inbox
from folkmoot.orchestration.invocation import Ear, Run
from folkmoot.orchestration.ledger import Ledger
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.other_runs import ResultCache, Traffic
from folkmoot.ports import Clock, Journal


class TeamSubscriber(Protocol):
    """Told as it happens, in the order of the journal. `team` is the run and the span of the team."""

    def on_member_broadcast(self, team: tuple[str, str], broadcast: TeamBroadcast) -> None: ...

    def on_member_exit(self, team: tuple[str, str], member_id: str, reason: str) -> None:
        """A member is no longer in the team; without a reason it has done its part."""


def told(subscriber: TeamSubscriber, run: str) -> Callable[[str, Event], None]:
    """A watcher of a run's log that tells the subscriber."""

    def watch(span: str, event: Event) -> None:
        team = (run, parent_span(without_cycle(span)))
        match event:
            case TeamBroadcast():
                subscriber.on_member_broadcast(team, event)
            case TeamMemberExited(member_id=member):
                subscriber.on_member_exit(team, member, "")
            case TeamMemberFailed(member_id=member, reason=reason):
                subscriber.on_member_exit(team, member, reason)

    return watch


class Placement(Value):
    """Where runs are, for this process."""

    label: str = ""
    """Of the place where its working folders are: runs that used one elsewhere are left alone."""
    lease: float = LEASE
    """Seconds without a sign of life after which others take its runs over."""


class Shift(Value):
    """How a worker works."""

    place: Placement = Placement()
    concurrency: int = 10
    """Runs at once."""
    grace: float = 10.0
    """Seconds for calls under way to end after it was told to stop."""
    rebuild: bool = False
    """Forget all jobs first; they are made anew from the journal."""


class Audience(msgspec.Struct, frozen=True, kw_only=True):
    """Who hears a run and is there to answer it."""

    ear: Ear | None = None
    attendance: Attendance = Attendance()


class Maker:
    def __init__(
        self, journal: Journal, clock: Clock, subscribers: Sequence[TeamSubscriber], label: str
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._subscribers = subscribers
        self._label = label
        self._traffic = Traffic(journal, clock)

    def run(self, project: Project, identity: Identity, log: RunLog, audience: Audience) -> Run:
        settings, secrets = project.graph.settings, project.secrets
        if secrets.any:
            log.redact = secrets.event
        log.watchers += [told(subscriber, identity.run) for subscriber in self._subscribers]
        run = Run(
            id=identity.run,
            seed=identity.seed,
            graph=project.graph,
            kits=project.kits,
            models=project.models,
            tools=project.tools,
            clock=self._clock,
            log=log,
            keep=lambda content: self._journal.keep(secrets.content(content)),
            artifact=self._journal.artifact,
            ledger=Ledger(settings.limits, self._clock),
            cache=ResultCache(self._journal, self._clock),
            traffic=self._traffic,
            inbox=Inbox(
                identity.run,
                log,
                audience.attendance,
                deny=settings.approvals.unattended == "deny",
                clock=self._clock,
                patience=settings.limits.client_call or None,
            ),
            ear=audience.ear,
            label=self._label,
            secrets=secrets,
        )
        for fold in run.folds:
            log.watch(fold)
        return run
