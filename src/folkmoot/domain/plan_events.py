"""What can happen around a plan: an agent's own, or one under contract between its planner and its executor."""

from __future__ import annotations

from folkmoot.domain.event import AgentRole, Event
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.work_session import SnapshotReason


class PlanCreated(Event):
    """A planner gave a plan that is complete; nothing of it was done yet."""

    type = "plan.created"
    plan: Plan
    artifact: str
    """The plan as whoever carries it out reads it."""
    strategy: str
    """`contract`, or the planning strategy that asked for it."""


class PlanRejected(Event):
    """A planner gave no plan, or one that is not complete; it is sent back once."""

    type = "plan.rejected"
    problems: tuple[str, ...]


class PlanUpdated(Event):
    """Whoever carries a plan out changed what is left of it."""

    type = "plan.updated"
    plan: str
    steps: tuple[PlanStep, ...]
    reason: str = ""


class PlanCommitted(Event):
    """The plan passes over to whoever carries it out."""

    type = "plan.committed"
    plan: str


class PlanCompleted(Event):
    """Everything that was to be done of a plan is done, or given up."""

    type = "plan.completed"
    plan: str
    success: bool


class StepStarted(Event):
    """A step of a plan is under way."""

    type = "step.started"
    plan: str
    step: str


class StepCompleted(Event):
    """A step of a plan is over."""

    type = "step.completed"
    plan: str
    step: str
    success: bool
    note: str = ""


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
