"""Plans as JSON: what `--json` shows, and the files `plans/*.json`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.plan import Plan, PlanStep, Review


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
