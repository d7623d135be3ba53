"""Sense, plan, act, reflect: rounds of four sessions, each with one thing to do, until the work is found good."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.errand import Block
from folkmoot.domain.event import Cause
from folkmoot.domain.plan import SPAR_ROUNDS, Plan
from folkmoot.domain.plan_events import PlanCompleted
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import brief_with
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import bare_kit, part_kit
from folkmoot.orchestration.planner import Planning, draft_plan, rendered

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
