"""A work session: the collaboration around one goal, with its team, its state and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from folkmoot.domain.agent import MemberRole
from folkmoot.domain.category import CategoryId
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
