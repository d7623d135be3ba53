"""What can happen around a plan: an agent's own in a run, one under contract between its planner and its executor, or
one that outlives runs and that several carry out."""

from __future__ import annotations

from folkmoot.domain.event import AgentRole, Event
from folkmoot.domain.plan import Plan, PlanStep, Verdict
from folkmoot.domain.work_session import SnapshotReason


class PlanCreated(Event):
    """A plan is there; nothing of it was done yet."""

    type = "plan.created"
    plan: Plan
    artifact: str = ""
    """The plan as whoever carries it out reads it, if that is the same run."""
    strategy: str = ""
    """`contract`, or the planning strategy that asked for it; empty for a plan that outlives the run."""


class PlanRevised(Event):
    """Its author changed a plan that is not decided, or was rejected; it is a draft again."""

    type = "plan.revised"
    plan: Plan


class PlanReviewed(Event):
    """Somebody else looked a plan over before it was decided."""

    type = "plan.reviewed"
    plan: str
    verdict: Verdict
    text: str = ""


class PlanSubmitted(Event):
    """Its author wants a plan decided."""

    type = "plan.submitted"
    plan: str


class PlanApproved(Event):
    """A lead or a person agreed to a plan: its author may use the tools that it requests."""

    type = "plan.approved"
    plan: str
    text: str = ""


class PlanRejected(Event):
    """A plan was sent back: by the runtime because it is not complete, or by whoever decides it."""

    type = "plan.rejected"
    problems: tuple[str, ...]
    """Why: what is not complete, or the reason of whoever decided."""
    plan: str = ""
    """The plan that was decided; empty if none came about."""


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


class PlanProgress(Event):
    """How much of a plan is over."""

    type = "plan.progress"
    plan: str
    percent: int


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
    owner: str = ""
    """Absent within a run, where the plan is one agent's own."""


class StepBlocked(Event):
    """A step cannot go on."""

    type = "step.blocked"
    plan: str
    step: str
    owner: str
    reason: str
    decision: str = ""
    """What must be decided before it does."""


class StepResumed(Event):
    """What blocked a step is out of the way."""

    type = "step.resumed"
    plan: str
    step: str
    owner: str
    reason: str = ""


class StepReassigned(Event):
    """A step belongs to another from here on, who must accept it before it goes on."""

    type = "step.reassigned"
    plan: str
    step: str
    sender: str
    receiver: str
    reason: str


class StepAccepted(Event):
    """The new owner of a step takes it."""

    type = "step.accepted"
    plan: str
    step: str
    owner: str


class StepCompleted(Event):
    """A step of a plan is over: done, or skipped if it was no success."""

    type = "step.completed"
    plan: str
    step: str
    success: bool
    note: str = ""
    owner: str = ""
    """Absent within a run."""


class StepReviewed(Event):
    """Somebody held what came of a step against what was to be accepted."""

    type = "step.reviewed"
    plan: str
    step: str
    owner: str
    verdict: Verdict
    text: str = ""


class StepReopened(Event):
    """A step that was over is not."""

    type = "step.reopened"
    plan: str
    step: str
    owner: str
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
