"""Plans as JSON, the plans of a run, and whether everything done for a plan can be traced. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import HandoffRequested, ToolStarted
from folkmoot.domain.plan import Plan, PlanStep, Review
from folkmoot.domain.plan_events import PlanCreated, SnapshotCreated
from folkmoot.domain.step_policy import StepPolicy
from folkmoot.domain.value import Value


def document(plan: Plan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "agentId": plan.author,
        "author": plan.author,
        "taskId": plan.task or None,
        "workSessionId": plan.work_session or None,
        "title": plan.title,
        "goal": plan.goal,
        "status": plan.status,
        "percent": plan.percent,
        "toolsRequested": list(plan.tools_requested),
        "createdAt": plan.created_at or None,
        "submittedAt": plan.submitted_at or None,
        "decidedAt": plan.decided_at or None,
        "decidedBy": plan.decided_by or None,
        "rejectReason": plan.reject_reason or None,
        "reviews": [_review(review) for review in plan.reviews],
        "steps": [_step(step) for step in plan.steps],
    }


def projected(plans: Mapping[str, Plan]) -> dict[str, str]:
    """The files that say what these plans are, by path; the same plans give the same bytes."""
    return {f"plans/{plan.id}.json": _text(plan) for plan in plans.values()}


def _text(plan: Plan) -> str:
    return msgspec.json.format(msgspec.json.encode(document(plan)).decode(), indent=2) + "\n"


def _step(step: PlanStep) -> dict[str, Any]:
    return {
        "id": step.id,
        "order": step.order,
        "owner": step.owner or None,
        "description": step.description,
        "acceptance": step.acceptance or None,
        "status": step.status,
        "actionType": step.action_type or None,
        "rationale": step.rationale or None,
        "expectedOutputs": list(step.expected_outputs),
        "stopCondition": step.stop_condition or None,
        "toolCalls": msgspec.to_builtins(step.tool_calls),
        "toolPolicy": _policy(step.tool_policy),
        "handedBy": step.handed_by or None,
        "blockedReason": step.blocked or None,
        "decisionId": step.decision or None,
        "note": step.note or None,
        "reviews": [_review(review) for review in step.reviews],
    }


def _policy(policy: StepPolicy) -> dict[str, Any]:
    budget = policy.budget
    return {
        "tools": None if policy.tools is None else list(policy.tools),
        "approval": policy.approval,
        "budget": {"time": budget.time, "tokens": budget.tokens, "filesChanged": budget.files_changed},
    }


def _review(review: Review) -> dict[str, str]:
    return {"by": review.by, "verdict": review.verdict, "text": review.text, "at": review.at}


class Audit(Value, omit_defaults=False):
    actions: int
    """Tool calls of executors."""
    transfers: int
    snapshots: int
    orphans: tuple[str, ...]
    """What nothing leads to, in words; none in a sound run."""


def audit(drafts: Sequence[Draft]) -> Audit:
    handed = {draft.span for draft in drafts if _is_contract(draft)}
    calls = [draft for draft in drafts if isinstance(draft.event, ToolStarted)]
    actions = [draft for draft in calls if draft.span in handed or _plan_of(draft)]
    orphans = (
        *_without_plan(drafts, actions),
        *_without_transfer(actions, handed),
        *_without_snapshot(drafts),
        *_without_artifact(drafts),
    )
    return Audit(
        actions=len(actions),
        transfers=sum(isinstance(draft.event, HandoffRequested) for draft in drafts),
        snapshots=sum(isinstance(draft.event, SnapshotCreated) for draft in drafts),
        orphans=orphans,
    )


def _is_contract(draft: Draft) -> bool:
    return isinstance(draft.event, HandoffRequested) and draft.event.kind == "contract"


def _plan_of(draft: Draft) -> str:
    return draft.event.plan_id if isinstance(draft.event, ToolStarted) else ""


def _without_plan(drafts: Sequence[Draft], actions: Sequence[Draft]) -> Iterator[str]:
    plans = {draft.event.plan.id for draft in drafts if isinstance(draft.event, PlanCreated)}
    for draft in actions:
        if (plan := _plan_of(draft)) not in plans:
            yield f"{draft.span}: a tool was called for a plan that was never made: {plan or 'none is named'}"


def _without_transfer(actions: Sequence[Draft], handed: set[str]) -> Iterator[str]:
    for draft in actions:
        if draft.span not in handed:
            yield f"{draft.span}: a tool was called for a plan that was never passed over: {_plan_of(draft)}"


def _without_snapshot(drafts: Sequence[Draft]) -> Iterator[str]:
    taken = {
        id for draft in drafts if isinstance(draft.event, SnapshotCreated) for id in draft.event.artifact_ids
    }
    for draft in drafts:
        if isinstance(draft.event, HandoffRequested) and _is_contract(draft):
            for id in draft.event.artifact_ids:
                if id not in taken:
                    yield f"{draft.span}: no snapshot names what passed over: {id}"


def _without_artifact(drafts: Sequence[Draft]) -> Iterator[str]:
    for draft in drafts:
        if isinstance(draft.event, HandoffRequested) and not draft.event.artifact_ids:
            yield f"{draft.span}: what passed to {draft.event.receiver} was not kept"
