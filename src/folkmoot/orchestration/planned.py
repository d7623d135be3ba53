"""An agent that works by a plan: in several sessions of its own file, around which stands its session as others see it.

That one holds no conversation. It begins with the request and ends with the outcome of the last part.

`plan_and_execute` never lets one conversation grow: every step reads the plan and the results so far, and a last
session, which has no tools, concludes. `plan_and_react` works in one conversation and marks its steps as it goes.
`spar` has rounds of four sessions, each with one thing to do: sense, plan, act, reflect. Under contract (`split`)
planner and executor share nothing but a typed plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.call_events import HandoffRejected
from folkmoot.domain.entry import AgentRole, Cause
from folkmoot.domain.errand import Block
from folkmoot.domain.events import (
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolStarted,
)
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import draw
from folkmoot.domain.plan import (
    SPAR_ROUNDS,
    Plan,
    PlanCommitted,
    PlanCompleted,
    PlanStep,
    StepCompleted,
    StepStarted,
)
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotCreated
from folkmoot.orchestration.briefs import (
    build_brief,
    build_brief_with,
    build_session_started,
    hash_planned_calls,
)
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import SessionToolset, build_part_toolset
from folkmoot.orchestration.planner import PlanRequest, render_plan
from folkmoot.orchestration.references import store_artifact, store_request_blocks
from folkmoot.orchestration.runtime_tools import (
    ASK_CLARIFICATION,
    CALL_AGENT,
    CALL_AGENTS_PARALLEL,
    PLAN_UPDATE,
    READ,
)
from folkmoot.orchestration.transfer import run_handoff
from folkmoot.session.exits import final_report
from folkmoot.session.state import Brief

CONTRACT: Literal["contract"] = "contract"
_CONCLUDE = "The steps are over. Give your final answer to the request, from the results alone."
_SENSE = (
    "Before anything is planned or done: say in a few sentences what is known, what is not, and what matters most. "
    "Do not solve the task."
)
_REFLECT = (
    "Look at the result of this round with a critical eye. Answer with one JSON object and nothing around it: "
    '{"done": true} if it answers the request, otherwise {"done": false, "advice": "what to do better next time"}.'
)
_EXECUTE = (
    "You carry out the plan that you are given, step by step, in its order, and nothing else. You know nothing but "
    "the plan; what it names by id you read by id. When a stop_condition is met, that step is over. Then report what "
    "came of it."
)


async def run_planned_agent(run: Run, inv: Invocation) -> Outcome:
    if not any(isinstance(event, SessionStarted) for event in run.log.of(inv.span)):
        run.log.note(inv.place, build_session_started(run, inv))
    agent = inv.agent
    way = _WAYS["split" if agent.split != "never" else agent.tuning.planning_strategy]
    try:
        outcome = await way(_PlannedWork(run, inv))
    except asyncio.CancelledError:
        run.log.once(inv.place, SessionCancelled(reason="the run was cancelled"))
        raise
    run.log.once(inv.place, (SessionFailed if outcome.failed else SessionCompleted)(outcome))
    return outcome


class _Reflection(Value):
    done: bool = True
    """Also when nobody can tell: another round costs more than an imperfect answer."""
    advice: str = ""


class _PlannedWork(msgspec.Struct, frozen=True):
    """One agent that works by a plan; each way of doing so is a method."""

    run: Run
    inv: Invocation

    @property
    def _kit(self) -> SessionToolset:
        """What the parts share."""
        return self.run.parts_kit(self.inv)

    async def plan_and_execute(self) -> Outcome:
        plan = await self._plan("plan_and_execute")
        if isinstance(plan, Outcome):
            return plan
        results: list[Block] = []
        for step in plan.steps:
            outcome = await self._do(plan, step, results)
            said = f"(failed: {outcome.error})" if outcome.failed else outcome.report.content
            results.append(Block("result", said, step.id))
            if outcome.failed:
                break
        return await self._execute(plan, (), self.inv, *results, Block("task", _CONCLUDE))

    async def plan_and_react(self) -> Outcome:
        plan = await self._plan("plan_and_react")
        if isinstance(plan, Outcome):
            return plan
        return await self._execute(plan, (*self._kit.tools, PLAN_UPDATE), self.inv)

    async def spar(self) -> Outcome:
        inv, lessons = self.inv, tuple[Block, ...]()
        for number in range(1, SPAR_ROUNDS + 1):
            path = f"round:{number}/"
            sensed = await self._say(inv.with_blocks(*lessons), "sense", path, _SENSE)
            if sensed.failed:
                return sensed
            informed = inv.with_blocks(*lessons, Block("situation", sensed.report.content))
            plan = await PlanRequest(self.run, informed, "spar", self._kit.tools, path=path).draft()
            if isinstance(plan, Outcome):
                return plan
            outcome = await self._execute(plan, self._kit.tools, informed, path=path)
            if outcome.failed or outcome.exit != FINAL_REPORT or number == SPAR_ROUNDS:
                return outcome
            result = Block("result", outcome.report.content)
            reflection = _parse_reflection(
                await self._say(inv.with_blocks(result), "reflect", path, _REFLECT)
            )
            if reflection.done:
                return outcome
            lessons = (result, Block("reflection", reflection.advice))
        raise AssertionError("the last round returns")

    async def _plan(self, strategy: str) -> Plan | Outcome:
        return await PlanRequest(self.run, self.inv, strategy, self._kit.tools).draft()

    async def _say(self, inv: Invocation, cause: Cause, path: str, task: str) -> Outcome:
        """A session without tools that answers in plain text."""
        asked = inv.part(self.run, cause, f"{path}{cause}")
        agent = replace(inv.agent, prompt=f"{inv.agent.prompt}\n\n{task}".strip(), output=Output())
        return await self.run.converse(
            asked, replace(build_brief_with(self.run, asked, SessionToolset()), agent=agent)
        )

    async def _do(self, plan: Plan, step: PlanStep, results: list[Block]) -> Outcome:
        """One step; what it gives is text, whatever the agent's own answer looks like."""
        run, inv = self.run, self.inv
        run.log.once(inv.place, StepStarted(plan=plan.id, step=step.id))
        task = Block("task", f"Do step {step.id} of the plan now, and nothing else. Report what came of it.")
        asked = inv.part(run, "step", f"step:{step.id}").with_blocks(self._block(plan), *results, task)
        worker = replace(inv.agent, output=Output())
        brief = build_brief_with(run, asked, build_part_toolset(self._kit.tools, (final_report(worker),)))
        outcome = await run.converse(asked, replace(brief, agent=worker))
        done = StepCompleted(plan=plan.id, step=step.id, success=not outcome.failed, note=outcome.error)
        run.log.once(inv.place, done)
        return outcome

    async def _execute(
        self, plan: Plan, tools: tuple[ToolSpec, ...], inv: Invocation, *blocks: Block, path: str = ""
    ) -> Outcome:
        """The session that reports, with the plan and these tools."""
        run = self.run
        executor = inv.part(run, "executor", f"{path}executor").with_blocks(self._block(plan), *blocks)
        brief = build_brief_with(run, executor, build_part_toolset(tools, self._kit.exits))
        outcome = await run.converse(executor, brief)
        run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
        return outcome

    def _block(self, plan: Plan) -> Block:
        return Block("plan", render_plan(self.run, plan))

    async def split(self) -> Outcome:
        """Plan, then pass the plan on; with `split: auto` only one that takes several tools."""
        run, inv = self.run, self.inv
        planning = PlanRequest(run, inv, CONTRACT, self._executors_tools(), store_request_blocks(run, inv))
        shown = planning.manifest("PLANNER")
        planning = replace(planning, references=(*planning.references, shown))
        plan = await planning.draft(self._reject)
        if isinstance(plan, Outcome):
            return plan
        if inv.agent.split == "auto" and sum(bool(step.tool_calls) for step in plan.steps) < 2:
            return await run.converse(inv, build_brief(run, inv))
        return await self._hand_over(plan, planning)

    async def _hand_over(self, plan: Plan, planning: PlanRequest) -> Outcome:
        """What passes over is the plan, word for word as it is kept, and what is kept of it is named in the journal."""
        run, inv = self.run, self.inv
        executor = inv.part(run, "executor", "executor")
        executor = replace(executor.asked(render_plan(run, plan)), routed=False)
        kept = store_artifact(run, inv, "plan", executor.original)
        shown = planning.manifest("EXECUTOR", plan_id=plan.id, plan=kept)
        run.log.once(inv.place, PlanCommitted(plan=plan.id))
        self._snapshot(inv, "PLANNER", {"status": "PASS"}, plan.id, (kept, shown.id))
        brief = self._executors_brief(executor, plan, planning)
        outcome = await run_handoff(run, inv, CONTRACT, executor, (shown.id,), brief)
        validation: dict[str, object] = {"status": "PASS"}
        if outcome.failed:
            validation = {"status": "FAIL", "checks": (outcome.error,)}
        self._snapshot(executor, "EXECUTOR", validation, plan.id, (kept, shown.id))
        run.log.once(inv.place, PlanCompleted(plan=plan.id, success=not outcome.failed))
        return outcome

    def _executors_tools(self) -> tuple[ToolSpec, ...]:
        """In a contract the roles are fixed: no further agents, unless the settings allow them."""
        kit = self._kit
        if self.run.graph.settings.orchestration.allow_subagents:
            return kit.tools
        agents = {*kit.agents, CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_CLARIFICATION}
        return tuple(spec for spec in kit.tools if spec.name not in agents)

    def _executors_brief(self, executor: Invocation, plan: Plan, planning: PlanRequest) -> Brief:
        """If the plan names tools, no other is offered."""
        run, named = self.run, plan.tools
        tools = tuple(spec for spec in planning.tools if not named or spec.name in named)
        reading = (READ,) if plan.references else ()
        kit = build_part_toolset((*tools, *reading), run.kits.of(executor.agent, executor.reach).exits)
        agent = replace(executor.agent, prompt=f"{executor.agent.prompt}\n\n{_EXECUTE}".strip())
        brief = build_brief_with(run, executor, kit)
        return replace(
            brief, agent=agent, plan=plan.id, policy=replace(brief.policy, planned=hash_planned_calls(plan))
        )

    def _reject(self, asked: Invocation, problems: list[str], last: bool) -> None:
        rejected = HandoffRejected(CONTRACT, self.inv.agent.id, error="; ".join(problems))
        self.run.log.once(asked.place, rejected)
        action = "SYSTEM_ERROR" if last else "RETRY"
        self._snapshot(asked, "PLANNER", {"status": "FAIL", "checks": problems, "failure_action": action})

    def _snapshot(
        self,
        at: Invocation,
        role: AgentRole,
        validation: dict[str, object],
        plan: str = "",
        artifacts: tuple[str, ...] = (),
    ) -> None:
        """Who did what up to here, and what passed on; named by its place, so that a resumed run takes the same."""
        run, id = self.run, "snap_" + draw(self.run.seed, at.span, "snapshot", role)
        state = {
            "snapshot_id": id,
            "run_id": run.id,
            "agent_role": role,
            "agent": at.agent.file,
            "plan_id": plan,
            "artifact_ids": artifacts,
            "actions": [
                {"agent_role": role, "turn": call.turn, "call": call.call, "tool": call.tool, "key": call.key}
                for call in run.log.of(at.span)
                if isinstance(call, ToolStarted)
            ],
            "validation": validation,
        }
        artifact = store_artifact(run, at, "snapshot", state)
        reason: Literal["final", "handoff"] = "final" if role == "EXECUTOR" else "handoff"
        run.log.once(at.place, SnapshotCreated(id, artifact, role, plan, artifacts, reason))


_WAYS: dict[str, Callable[[_PlannedWork], Awaitable[Outcome]]] = {
    "plan_and_execute": _PlannedWork.plan_and_execute,
    "plan_and_react": _PlannedWork.plan_and_react,
    "spar": _PlannedWork.spar,
    "split": _PlannedWork.split,
}


def _parse_reflection(said: Outcome) -> _Reflection:
    text = said.report.content
    if said.failed:
        return _Reflection()
    try:
        return msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=_Reflection)
    except msgspec.DecodeError:
        return _Reflection()
