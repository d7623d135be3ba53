"""An agent's own plan: done step by step, each in a fresh conversation, or kept at hand in one.

`plan_and_execute` never lets one conversation grow: every step reads the plan and the results so far, and a last
session, which has no tools, concludes. `plan_and_react` works in one conversation and marks its steps as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.errand import Block
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.plan_events import PlanCompleted, StepCompleted, StepStarted
from folkmoot.domain.report import Outcome
from folkmoot.orchestration.briefs import brief_with
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import part_kit
from folkmoot.orchestration.plan_tool import PLAN_UPDATE
from folkmoot.orchestration.planner import Planning, draft_plan, rendered
from folkmoot.session.exits import final_report


async def plan_and_execute(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    plan = await _planned(run, inv, converse, "plan_and_execute")
    if isinstance(plan, Outcome):
        return plan
    results: list[Block] = []
    for step in plan.steps:
        outcome = await _do(run, inv, plan, step, results, converse)
        said = f"(failed: {outcome.error})" if outcome.failed else outcome.report.content
        results.append(Block("result", said, step.id))
        if outcome.failed:
            break
    told = "The steps are over. Give your final answer to the request, from the results alone."
    return await _conclude(run, inv, plan, (*results, Block("task", told)), converse)


async def plan_and_react(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    plan = await _planned(run, inv, converse, "plan_and_react")
    if isinstance(plan, Outcome):
        return plan
    executor = _with_plan(run, inv.part(run, "executor", "executor"), plan)
    own = run.parts_kit(inv)
    brief = brief_with(run, executor, part_kit((*own.tools, PLAN_UPDATE), own.exits))
    outcome = await converse(executor, brief)
    run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
    return outcome


async def _planned(run: Run, inv: Invocation, converse: Converse, strategy: str) -> Plan | Outcome:
    planning = Planning(strategy=strategy, tools=run.parts_kit(inv).tools)
    return await draft_plan(run, inv, planning, converse)


async def _do(
    run: Run, inv: Invocation, plan: Plan, step: PlanStep, results: Sequence[Block], converse: Converse
) -> Outcome:
    """One step; what it gives is text, whatever the agent's own answer looks like."""
    run.log.once(inv.place, StepStarted(plan=plan.id, step=step.id))
    told = Block("task", f"Do step {step.id} of the plan now, and nothing else. Report what came of it.")
    asked = _with_plan(run, inv.part(run, "step", f"step:{step.id}"), plan, *results, told)
    worker = replace(inv.agent, output=Output())
    own = run.parts_kit(inv)
    brief = replace(brief_with(run, asked, part_kit(own.tools, (final_report(worker),))), agent=worker)
    outcome = await converse(asked, brief)
    done = StepCompleted(plan=plan.id, step=step.id, success=not outcome.failed, note=outcome.error)
    run.log.once(inv.place, done)
    return outcome


async def _conclude(
    run: Run, inv: Invocation, plan: Plan, blocks: Sequence[Block], converse: Converse
) -> Outcome:
    executor = _with_plan(run, inv.part(run, "executor", "executor"), plan, *blocks)
    kit = part_kit((), run.parts_kit(inv).exits)
    outcome = await converse(executor, brief_with(run, executor, kit))
    run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
    return outcome


def _with_plan(run: Run, asked: Invocation, plan: Plan, *blocks: Block) -> Invocation:
    return replace(asked, blocks=(*asked.blocks, Block("plan", rendered(run, plan)), *blocks))
