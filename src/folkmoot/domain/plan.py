"""A plan: what shall be done, step by step, before it is done."""

from __future__ import annotations

from typing import Any, Literal

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


class PlannedCall(Value, rename=None, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


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
    tool_policy: dict[str, Any] = {}
    id: str = ""
    order: int = 0
    status: StepStatus = "pending"

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.artifact_ids, *self.manifest_ids, *self.evidence_ids)


class Plan(Value, rename=None):
    id: str
    author: str
    """The agent that made it."""
    goal: str
    steps: tuple[PlanStep, ...]
    status: PlanStatus = "draft"
    title: str = ""
    work_session: str = ""
    tools_requested: tuple[str, ...] = ()
    decided_by: str = ""
    decided_at: str = ""
    reject_reason: str = ""

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of all tools that its steps call, each once."""
        return tuple(dict.fromkeys(call.name for step in self.steps for call in step.tool_calls))

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(id for step in self.steps for id in step.references))
