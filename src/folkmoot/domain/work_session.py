"""A work session: the collaboration around one goal, with its team, its state, and what can happen to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from folkmoot.domain.agent import MemberRole
from folkmoot.domain.category import CategoryId
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import AgentRole, Draft, Event
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value

WorkState = Literal[
    "Initialized", "TeamFormed", "Planning", "Executing", "Reviewing", "Completed", "Cancelled", "Error"
]
_GIVEN_UP: tuple[WorkState, ...] = ("Cancelled", "Error")
NEXT: Mapping[WorkState, tuple[WorkState, ...]] = {
    "Initialized": ("TeamFormed", *_GIVEN_UP),
    "TeamFormed": ("Planning", *_GIVEN_UP),
    "Planning": ("Executing", *_GIVEN_UP),
    "Executing": ("Reviewing", *_GIVEN_UP),
    "Reviewing": ("Executing", "Completed", *_GIVEN_UP),
    "Completed": (),
    "Cancelled": (),
    "Error": (),
}
"""Where a work session may go from each state; a review that reopens a step leads back."""

Action = Literal["plan", "vote", "execute", "review", "decide"]
ArtifactKind = Literal["code_diff", "doc", "log", "test_result"]
SnapshotReason = Literal[
    "", "final", "subagent_finish", "handoff", "plan_committed", "step_completed", "compaction", "fault"
]


class Policy(Value, forbid_unknown_fields=True):
    """What a member may do in its team. Absent means: no such limit."""

    actions: tuple[Action, ...] | None = None
    tools: tuple[str, ...] | None = None
    """Only tools that fit one of these, in every run that the member works on for the team."""


class Member(Value):
    agent: str
    """Its id."""
    role: MemberRole
    capabilities: tuple[str, ...] = ()
    policy: Policy = Policy()


class Roster(Value):
    """A team: who belongs to it, in which part, and what each may do."""

    members: tuple[Member, ...]
    name: str = ""
    id: str = ""
    """Given by the work session that it was put together for."""

    def member(self, agent: str) -> Member | None:
        return next((member for member in self.members if member.agent == agent), None)

    def in_role(self, role: MemberRole) -> tuple[str, ...]:
        return tuple(member.agent for member in self.members if member.role == role)


class WorkArtifact(Value):
    """Something that came of the work."""

    artifact: str
    """Its content, by hash."""
    kind: ArtifactKind
    title: str
    by: str = ""


class StateChange(Value):
    state: WorkState
    at: str
    by: str
    reason: str = ""


class Snapshot(Value):
    """How things stood at a milestone; never changed afterwards."""

    id: str
    artifact: str
    sequence: int
    """From 1 within its work session."""
    reason: SnapshotReason
    at: str
    plan: str = ""
    step: str = ""


class WorkSession(Value, omit_defaults=False):
    id: str
    goal: str = ""
    """Empty for one that began with a plain run."""
    label: str = ""
    constraints: tuple[str, ...] = ()
    state: WorkState = "Initialized"
    paused: bool = False
    """Its runs begin nothing new, and ask no model."""
    pause_reason: str = ""
    team: Roster | None = None
    previous: str = field(default="", name="previousWorkSessionId")
    category: CategoryId | Literal[""] = ""
    """What a person said it is about; empty: that follows from what is said in it."""
    categorised_by: str = ""
    categorised_at: str = ""
    summary: str = ""
    artifacts: tuple[WorkArtifact, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    decisions: tuple[str, ...] = ()
    """The decisions that were recorded when it was completed."""
    history: tuple[StateChange, ...] = ()
    created_at: str = ""
    created_by: str = ""

    @property
    def ended(self) -> bool:
        return not NEXT[self.state]


class WorkSessionOpened(Event):
    """Somebody has a goal that agents and people shall reach together."""

    type = "work_session.opened"
    goal: str
    label: str = ""
    constraints: tuple[str, ...] = ()
    previous: str = field(default="", name="previousWorkSessionId")
    """The one that it goes on with, which was archived."""


class WorkSessionTeamFormed(Event):
    """A team was put together, or put together anew."""

    type = "work_session.team_formed"
    team: Roster


class WorkSessionChanged(Event):
    """It went on to another state; completion has an event of its own."""

    type = "work_session.changed"
    state: WorkState
    reason: str = ""


class WorkSessionCompleted(Event):
    """The goal is reached, and what came of it is recorded."""

    type = "work_session.completed"
    summary: str
    decisions: tuple[str, ...] = ()


class WorkSessionPaused(Event):
    """From here on its runs ask no model and begin nothing new."""

    type = "work_session.paused"
    reason: str = ""


class WorkSessionResumed(Event):
    """Its runs may go on."""

    type = "work_session.resumed"


class WorkSessionLabelled(Event):
    """Somebody named it."""

    type = "work_session.labelled"
    label: str


class WorkSessionCategorised(Event):
    """A person said what it is about; that stays so, whatever its words say."""

    type = "work_session.categorised"
    category: CategoryId


class WorkSessionSummarised(Event):
    """What came of it so far, for people."""

    type = "work_session.summarised"
    summary: str


class WorkSessionArtifactAdded(Event):
    """Something that came of the work is kept with it."""

    type = "work_session.artifact_added"
    artifact: str
    kind: ArtifactKind
    title: str


class WorkSessionRefused(Event):
    """A member wanted to do what its team's policy does not let it do."""

    type = "work_session.refused"
    agent: str
    action: Action
    reason: str


class SnapshotCreated(Event):
    """How things stood, kept as an artifact: a milestone of a work session, or what a part of a contract passed on."""

    type = "snapshot.created"
    snapshot: str
    artifact: str
    agent_role: AgentRole
    plan: str = ""
    artifact_ids: tuple[str, ...] = ()
    """What passed over with it."""
    reason: SnapshotReason = ""
    """Empty in old journals."""
    sequence: int = 0
    """Within its work session, from 1."""
    step: str = ""


class WorkSessionEntrusted(Event):
    """Whoever serves this project carries the collaboration on from here, until it has ended."""

    type = "work_session.entrusted"


class WorkSessionAsked(Event):
    """A member is to do its part. Recorded before its run begins, so that a run that was cut off is gone on with."""

    type = "work_session.asked"
    purpose: str
    """What for, by name: `plan/1`, `review/1/tester`, `step/s2/1`, `vote/decision_…/coder`, …"""
    agent: str
    run: str


class WorkSessionAnswered(Event):
    """The run of a member has ended."""

    type = "work_session.answered"
    purpose: str
    run: str
    success: bool
    text: str
    """Its report, or why it failed."""
    sources: Sources = ()
    """What its sessions have read."""


Activity = Literal["ACTIVE", "QUIET", "ARCHIVED"]
ARCHIVED_AFTER = 86_400.0
"""Seconds without an event."""

_TERMINAL = (
    "run.completed", "run.failed", "run.cancelled", "work_session.completed", "plan.completed", "plan.rejected",
    "decision.committed", "task.completed", "task.cancelled", "a2a.complete", "a2a.spawn_result", "zombie.abandoned",
)  # fmt: skip
ASIDE = ("work_session.labelled", "work_session.categorised")
"""Said about the work; nothing of it was done."""


def counts(draft: Draft) -> bool:
    """Whether an event is a sign of life."""
    return draft.event.type not in ASIDE


def activity(latest: Draft, now: str) -> Activity:
    """By the latest event that counts."""
    if seconds_between(latest.ts, now) > ARCHIVED_AFTER:
        return "ARCHIVED"
    return "QUIET" if _is_terminal(latest) else "ACTIVE"


def _is_terminal(draft: Draft) -> bool:
    event = draft.event
    if isinstance(event, WorkSessionChanged):
        return event.state in ("Cancelled", "Error")
    return event.type in _TERMINAL
