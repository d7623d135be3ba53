"""A plan: what shall be done, step by step, before it is done; and what can happen to it."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.entry import Event
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.value import Value

PLAN_STEPS = 50
"""At most in one plan."""
PLAN_TRIES = 2
"""A plan that is not complete is sent back once."""
TURNS_PER_TRY = 3
"""A planner that calls a tool is told that it has none, and may answer again."""
SPAR_ROUNDS = 3

PlanStatus = Literal["draft", "submitted", "approved", "rejected", "committed", "done"]
StepStatus = Literal["pending", "in_progress", "done", "skipped"]
Verdict = Literal["accept", "change"]
"""Of somebody who looks a plan or a finished step over."""


class PlannedCall(Value, rename=None, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class Review(Value):
    """What somebody said who looked something over."""

    by: str
    verdict: Verdict
    text: str = ""
    at: str = ""
    place: str = ""
    """Where it was said: the part of a collaboration. Empty if a person said it."""


class PlanStep(Value, rename=None):
    """The first four say what, why, to what end and until when; a planner must give them."""

    action_type: str
    rationale: str
    expected_outputs: tuple[str, ...]
    stop_condition: str
    tool_calls: tuple[PlannedCall, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    manifest_ids: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()
    description: str = ""
    owner: str = ""
    acceptance: str = ""
    tool_policy: StepPolicy = StepPolicy()
    id: str = ""
    order: int = 0
    status: StepStatus = "pending"
    begun_by: str = ""
    """Who works at it; nobody after it was given to another, or reopened."""
    handed_by: str = ""
    """Who gave it to its owner, as long as that has not accepted it."""
    was_handed: bool = False
    """Its owner has it from another."""
    reason: str = ""
    """Why it was passed on to its owner, or resumed; who carries it out reads it."""
    blocked: str = ""
    """Why it cannot go on."""
    decision: str = ""
    """What must be decided before it does."""
    note: str = ""
    """What came of it."""
    reviews: tuple[Review, ...] = ()

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.artifact_ids, *self.manifest_ids, *self.evidence_ids)

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "skipped")


class Plan(Value, rename=None):
    id: str
    author: str
    """Who made it."""
    goal: str
    steps: tuple[PlanStep, ...]
    status: PlanStatus = "draft"
    title: str = ""
    work_session: str = ""
    tools_requested: tuple[str, ...] = ()
    decided_by: str = ""
    decided_at: str = ""
    reject_reason: str = ""
    task: str = ""
    """The task that it is for."""
    created_at: str = ""
    submitted_at: str = ""
    reviews: tuple[Review, ...] = ()

    @property
    def percent(self) -> int:
        """How much of it is over."""
        return 100 * sum(step.is_over for step in self.steps) // max(1, len(self.steps))

    @property
    def is_agreed(self) -> bool:
        """Whether somebody who may has agreed to it."""
        return self.status in ("approved", "committed", "done")

    @property
    def requested(self) -> tuple[str, ...]:
        """All tools that it asks for, as a whole or for single steps."""
        of_steps = (name for step in self.steps for name in step.tool_policy.tools or ())
        return tuple(dict.fromkeys((*self.tools_requested, *of_steps, *self.tools)))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of all tools that its steps call, each once."""
        return tuple(dict.fromkeys(call.name for step in self.steps for call in step.tool_calls))

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(id for step in self.steps for id in step.references))


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
