"""An agent that works by a plan: in several sessions of its own file, around which stands its session as others see it.

That one holds no conversation. It begins with the request and ends with the outcome of the last part.

`plan_and_execute` never lets one conversation grow: every step reads the plan and the results so far, and a last
session, which has no tools, concludes. `plan_and_react` works in one conversation and marks its steps as it goes.
`spar` has rounds of four sessions, each with one thing to do: sense, plan, act, reflect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Output
from folkmoot.domain.entry import Cause
from folkmoot.domain.errand import Block
from folkmoot.domain.events import SessionCancelled, SessionCompleted, SessionFailed, SessionStarted
from folkmoot.domain.plan import SPAR_ROUNDS, Plan, PlanCompleted, PlanStep, StepCompleted, StepStarted
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import brief_with, opening
from folkmoot.orchestration.contract import run_split
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import bare_kit, part_kit
from folkmoot.orchestration.plan_tool import PLAN_UPDATE
from folkmoot.orchestration.planner import Planning, draft_plan, rendered
from folkmoot.session.exits import final_report

Way = Callable[[Run, Invocation, Converse], Awaitable[Outcome]]


async def run_planned(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    if not any(isinstance(event, SessionStarted) for event in run.log.of(inv.span)):
        run.log.note(inv.place, opening(run, inv))
    try:
        outcome = await _way_of(inv.agent)(run, inv, converse)
    except asyncio.CancelledError:
        run.log.once(inv.place, SessionCancelled(reason="the run was cancelled"))
        raise
    run.log.once(inv.place, (SessionFailed if outcome.failed else SessionCompleted)(outcome))
    return outcome


def _way_of(agent: Agent) -> Way:
    if agent.split != "never":
        return run_split
    ways: dict[str, Way] = {
        "plan_and_execute": plan_and_execute,
        "plan_and_react": plan_and_react,
        "spar": run_spar,
    }
    return ways[agent.tuning.planning_strategy]


_SENSE = (
    "Before anything is planned or done: say in a few sentences what is known, what is not, and what matters most. "
    "Do not solve the task."
)
_REFLECT = (
    "Look at the result of this round with a critical eye. Answer with one JSON object and nothing around it: "
    '{"done": true} if it answers the request, otherwise {"done": false, "advice": "what to do better next time"}.'
)


class _Reflection(Value):
    done: bool = True
    """Also when nobody can tell: another round costs more than an imperfect answer."""
    advice: str = ""


async def run_spar(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    lessons: tuple[Block, ...] = ()
    for number in range(1, SPAR_ROUNDS + 1):
        path = f"round:{number}/"
        sensed = await _say(run, _told(inv, lessons), "sense", f"{path}sense", _SENSE, converse)
        if sensed.failed:
            return sensed
        informed = _told(inv, (*lessons, Block("situation", sensed.report.content)))
        planning = Planning(strategy="spar", tools=run.parts_kit(inv).tools, path=path)
        plan = await draft_plan(run, informed, planning, converse)
        if isinstance(plan, Outcome):
            return plan
        outcome = await _act(run, informed, plan, path, converse)
        if outcome.failed or outcome.exit != FINAL_REPORT or number == SPAR_ROUNDS:
            return outcome
        result = Block("result", outcome.report.content)
        said = await _say(run, _told(inv, (result,)), "reflect", f"{path}reflect", _REFLECT, converse)
        reflection = _read(said)
        if reflection.done:
            return outcome
        lessons = (result, Block("reflection", reflection.advice))
    raise AssertionError("the last round returns")


async def _say(run: Run, inv: Invocation, cause: Cause, path: str, task: str, converse: Converse) -> Outcome:
    """A session without tools that answers in plain text."""
    asked = inv.part(run, cause, path)
    agent = replace(inv.agent, prompt=f"{inv.agent.prompt}\n\n{task}".strip(), output=Output())
    return await converse(asked, replace(brief_with(run, asked, bare_kit()), agent=agent))


async def _act(run: Run, inv: Invocation, plan: Plan, path: str, converse: Converse) -> Outcome:
    asked = _told(inv.part(run, "executor", f"{path}executor"), (Block("plan", rendered(run, plan)),))
    own = run.parts_kit(inv)
    outcome = await converse(asked, brief_with(run, asked, part_kit(own.tools, own.exits)))
    run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
    return outcome


def _told(inv: Invocation, blocks: Sequence[Block]) -> Invocation:
    return replace(inv, blocks=(*inv.blocks, *blocks))


def _read(said: Outcome) -> _Reflection:
    text = said.report.content
    if said.failed:
        return _Reflection()
    try:
        return msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=_Reflection)
    except msgspec.DecodeError:
        return _Reflection()


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
