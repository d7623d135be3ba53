"""Planner and executor under contract: two sessions of one file that share nothing but a typed plan."""

from __future__ import annotations

from functools import partial
from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.call_events import HandoffRejected
from folkmoot.domain.entry import AgentRole
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import draw
from folkmoot.domain.plan import Plan, PlanCommitted, PlanCompleted
from folkmoot.domain.report import Outcome
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotCreated, SnapshotReason
from folkmoot.orchestration.briefs import brief_for, brief_with, planned
from folkmoot.orchestration.chats import ASK_CLARIFICATION
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import part_kit
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL
from folkmoot.orchestration.planner import Planning, draft_plan, manifest, rendered
from folkmoot.orchestration.references import READ, handed_over, keep
from folkmoot.orchestration.transfer import transfer
from folkmoot.session.state import Brief

CONTRACT: Literal["contract"] = "contract"
_EXECUTE = (
    "You carry out the plan that you are given, step by step, in its order, and nothing else. You know nothing but "
    "the plan; what it names by id you read by id. When a stop_condition is met, that step is over. Then report what "
    "came of it."
)


class Validation(Value, rename=None):
    status: str
    checks: tuple[str, ...] = ()
    failure_action: str = "NONE"


async def run_split(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    """Plan, then pass the plan on; with `split: auto` only one that takes several tools."""
    planning = Planning(strategy=CONTRACT, tools=_executors_tools(run, inv), references=handed_over(run, inv))
    shown = manifest(run, inv, "PLANNER", planning)
    planning = replace(planning, references=(*planning.references, shown))
    plan = await draft_plan(run, inv, planning, converse, partial(_reject, run, inv))
    if isinstance(plan, Outcome):
        return plan
    if inv.agent.split == "auto" and sum(bool(step.tool_calls) for step in plan.steps) < 2:
        return await converse(inv, brief_for(run, inv))
    return await _hand_over(run, inv, plan, planning, converse)


async def _hand_over(
    run: Run, inv: Invocation, plan: Plan, planning: Planning, converse: Converse
) -> Outcome:
    """What passes over is the plan, word for word as it is kept, and what is kept of it is named in the journal."""
    executor = inv.part(run, "executor", "executor")
    executor = replace(executor, original=rendered(run, plan), blocks=(), parts=(), routed=False)
    kept = keep(run, inv, "plan", executor.original)
    shown = manifest(run, inv, "EXECUTOR", planning, plan_id=plan.id, plan=kept)
    run.log.once(inv.place, PlanCommitted(plan=plan.id))
    _snapshot(run, inv, "PLANNER", Validation("PASS"), plan.id, (kept, shown.id))
    brief = _executors_brief(run, executor, plan, planning)
    outcome = await transfer(
        run, inv, CONTRACT, executor, lambda asked: converse(asked, brief), also=(shown.id,)
    )
    passed = Validation("FAIL", (outcome.error,), "NONE") if outcome.failed else Validation("PASS")
    _snapshot(run, executor, "EXECUTOR", passed, plan.id, (kept, shown.id))
    run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
    return outcome


def _executors_tools(run: Run, inv: Invocation) -> tuple[ToolSpec, ...]:
    """In a contract the roles are fixed: no further agents, unless the settings allow them."""
    kit = run.parts_kit(inv)
    if run.graph.settings.orchestration.allow_subagents:
        return kit.tools
    agents = {*kit.agents, CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_CLARIFICATION}
    return tuple(spec for spec in kit.tools if spec.name not in agents)


def _executors_brief(run: Run, executor: Invocation, plan: Plan, planning: Planning) -> Brief:
    """If the plan names tools, no other is offered."""
    named = plan.tools
    tools = tuple(spec for spec in planning.tools if not named or spec.name in named)
    reading = (READ,) if plan.references else ()
    kit = part_kit((*tools, *reading), run.kits.of(executor.agent, executor.reach).exits)
    agent = replace(executor.agent, prompt=f"{executor.agent.prompt}\n\n{_EXECUTE}".strip())
    brief = brief_with(run, executor, kit)
    policy = replace(brief.policy, planned=planned(plan))
    return replace(brief, agent=agent, plan=plan.id, policy=policy)


def _reject(run: Run, inv: Invocation, asked: Invocation, problems: list[str], last: bool) -> None:
    error = "; ".join(problems)
    run.log.once(asked.place, HandoffRejected(kind=CONTRACT, receiver=inv.agent.id, error=error))
    action = "SYSTEM_ERROR" if last else "RETRY"
    _snapshot(run, asked, "PLANNER", Validation("FAIL", tuple(problems), action))


def _snapshot(
    run: Run,
    at: Invocation,
    role: AgentRole,
    validation: Validation,
    plan: str = "",
    artifacts: tuple[str, ...] = (),
) -> None:
    """Who did what up to here, and what passed on; named by its place, so that a resumed run takes the same."""
    id = "snap_" + draw(run.seed, at.span, "snapshot", role)
    state = {
        "snapshot_id": id,
        "run_id": run.id,
        "agent_role": role,
        "agent": at.agent.file,
        "plan_id": plan,
        "artifact_ids": artifacts,
        "actions": [
            {"agent_role": role, "turn": event.turn, "call": event.call, "tool": event.tool, "key": event.key}
            for event in run.log.of(at.span)
            if isinstance(event, ToolStarted)
        ],
        "validation": validation,
    }
    artifact = keep(run, at, "snapshot", state)
    reason: SnapshotReason = "final" if role == "EXECUTOR" else "handoff"
    run.log.once(at.place, SnapshotCreated(id, artifact, role, plan, artifacts, reason))
