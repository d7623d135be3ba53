"""Plans as JSON, the plans of a run, and whether everything done for a plan can be traced. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.plan import Plan, PlanCreated, PlanStep, Review
from folkmoot.domain.records import carried_on
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotCreated


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


class PlanView(Value, omit_defaults=False):
    agent_id: str
    call_path: str
    """The span of the agent whose plan it is."""
    strategy: str
    artifact: str
    """The plan as it was made."""
    status: str
    plan: Plan
    """As it stands."""


def plans(drafts: Iterable[Draft]) -> list[PlanView]:
    found: dict[str, PlanView] = {}
    for draft in drafts:
        event = draft.event
        if isinstance(event, PlanCreated):
            found[event.plan.id] = PlanView(
                draft.agent_id, draft.span, event.strategy, event.artifact, event.plan.status, event.plan
            )
        elif event.type.startswith(("plan.", "step.")):
            for id, view in found.items():
                plan = carried_on(view.plan, event)
                found[id] = replace(view, plan=plan, status=plan.status)
    return list(found.values())


class Audit(Value, omit_defaults=False):
    actions: int
    """Tool calls of executors."""
    transfers: int
    snapshots: int
    orphans: tuple[str, ...]
    """What nothing leads to, in words; none in a sound run."""


def audit(drafts: Sequence[Draft]) -> Audit:
    events = [draft.event for draft in drafts]
    handed = {draft.span for draft in drafts if _is_contract(draft.event)}
    plans = {event.plan.id for event in events if isinstance(event, PlanCreated)}
    snapshots = [event for event in events if isinstance(event, SnapshotCreated)]
    saved = {id for snapshot in snapshots for id in snapshot.artifact_ids}
    orphans: list[str] = []
    actions = transfers = 0
    for draft in drafts:
        span = draft.span
        match draft.event:
            case ToolStarted(plan_id=plan) if plan or span in handed:
                actions += 1
                if plan not in plans:
                    named = plan or "none is named"
                    orphans.append(f"{span}: a tool was called for a plan that was never made: {named}")
                if span not in handed:
                    orphans.append(f"{span}: a tool was called for a plan that was never passed over: {plan}")
            case HandoffRequested(artifact_ids=ids, receiver=receiver) as event:
                transfers += 1
                lost = [id for id in ids if _is_contract(event) and id not in saved]
                orphans += [f"{span}: no snapshot names what passed over: {id}" for id in lost]
                if not ids:
                    orphans.append(f"{span}: what passed to {receiver} was not kept")
    return Audit(actions, transfers, len(snapshots), tuple(orphans))


def _is_contract(event: Event) -> bool:
    return isinstance(event, HandoffRequested) and event.kind == "contract"
