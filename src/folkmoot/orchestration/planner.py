"""An agent makes a plan: a session of its own file that has no tools, and whose answer must be one.

What it wrote is judged here; a plan that is not complete is sent back once, with everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.draw import draw
from folkmoot.domain.errand import Block
from folkmoot.domain.events import SystemError
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.plan import PLAN_TRIES, TURNS_PER_TRY, Plan, PlanStep
from folkmoot.domain.plan_events import PlanCreated, PlanRejected
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import brief_with
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import bare_kit
from folkmoot.orchestration.plan_reading import Known, read_steps
from folkmoot.orchestration.references import Reference, artifacts_of, as_json, keep
from folkmoot.session.state import Brief

_PLAN = """You plan, and do nothing yourself. Whoever carries out your plan reads nothing else of yours.
{tools}
Answer with one JSON object and nothing around it: one step, or {{"steps": [step, …]}} in the order in which they are \
to be done. A step has
- "action_type": a word for what is done, such as SEARCH, FETCH, WRITE, SYNTHESIZE, ASK_HUMAN, STOP
- "rationale": why, in a sentence
- "expected_outputs": a list of what it shall give
- "stop_condition": when it is over
- "tool_calls", if it needs tools: a list of {{"name": …, "arguments": {{…}}}}
- "artifact_ids", "manifest_ids", "evidence_ids", if it needs what is kept: lists of ids. Never write content \
into a plan.
{references}"""


class Planning(Value):
    """How a plan is asked for."""

    strategy: str
    tools: tuple[ToolSpec, ...]
    """What whoever carries it out will have."""
    references: tuple[Reference, ...] = ()
    """What the plan may refer to by id."""
    path: str = ""
    """Where below the agent's place, if it plans more than once: `round:2/`."""


Rejected = Callable[[Invocation, list[str], bool], None]
"""Told of a plan that was sent back: where, what is wrong with it, and whether there is no other try."""


async def draft_plan(
    run: Run, inv: Invocation, planning: Planning, converse: Converse, rejected: Rejected | None = None
) -> Plan | Outcome:
    """The plan, or the failure that stands in its place."""
    problems: list[str] = []
    for number in range(1, PLAN_TRIES + 1):
        asked = _asked(run, inv, planning.path, number, problems)
        outcome = await converse(asked, _brief(run, asked, planning))
        if outcome.failed and outcome.stop_reason != "MAX_TURNS":
            return outcome
        steps = (
            [outcome.error] if outcome.failed else read_steps(outcome.report.content, _known(run, planning))
        )
        if isinstance(steps, tuple):
            return _created(run, inv, planning, steps)
        problems = steps
        run.log.once(asked.place, PlanRejected(problems=tuple(problems)))
        if rejected:
            rejected(asked, problems, number == PLAN_TRIES)
    return _given_up(run, inv, problems)


def rendered(run: Run, plan: Plan) -> str:
    """The plan as whoever carries it out reads it: typed, and nothing of what its planner said besides."""
    steps = [msgspec.to_builtins(step) for step in plan.steps]
    shown = {"plan_id": plan.id, "run_id": run.id, "objective": plan.goal, "steps": steps}
    return as_json(shown)


def manifest(run: Run, inv: Invocation, role: str, planning: Planning, **more: object) -> Reference:
    """What a part of the work is shown, and why: kept, and named by its id."""
    shown = {
        "run_id": run.id,
        "agent_role": role,
        "agent": inv.agent.file,
        "tools": [spec.name for spec in planning.tools],
        "included": msgspec.to_builtins(planning.references),
        "invariants": {
            "output_format": inv.agent.output.format,
            "max_turns": inv.agent.tuning.max_turns,
            "budget": msgspec.to_builtins(inv.agent.budget),
        },
        **more,
    }
    return Reference(keep(run, inv, "manifest", shown), "manifest")


def _asked(run: Run, inv: Invocation, path: str, number: int, problems: list[str]) -> Invocation:
    asked = inv.part(run, "planner", f"{path}planner/try:{number}")
    if not problems:
        return asked
    listed = "\n".join(f"- {problem}" for problem in problems)
    wrong = Block(
        "rejected_plan", f"Your plan was not accepted:\n{listed}\nGive a plan without these faults."
    )
    return replace(asked, blocks=(*asked.blocks, wrong))


def _brief(run: Run, asked: Invocation, planning: Planning) -> Brief:
    tools = "\n".join(f"- {spec.name}: {spec.description.partition(chr(10))[0]}" for spec in planning.tools)
    ids = "\n".join(f"- {ref.id}: {ref.kind} {ref.source}".rstrip() for ref in planning.references)
    told = _PLAN.format(
        tools=f"It can be done with these tools:\n{tools}" if tools else "There are no tools for it.",
        references=f"These ids can be referred to:\n{ids}" if ids else "",
    )
    agent = asked.agent
    planner = replace(agent, prompt=f"{agent.prompt}\n\n{told}".strip(), output=Output())
    brief = brief_with(run, asked, bare_kit())
    return replace(brief, agent=planner, max_turns=min(TURNS_PER_TRY, agent.tuning.max_turns))


def _known(run: Run, planning: Planning) -> Known:
    artifacts = artifacts_of(run)
    return Known(
        tools=tuple(spec.name for spec in planning.tools),
        artifacts=frozenset(artifacts),
        manifests=frozenset(id for id, kind in artifacts.items() if kind == "manifest"),
        evidence=frozenset(run.evidence.results),
    )


def _created(run: Run, inv: Invocation, planning: Planning, steps: tuple[PlanStep, ...]) -> Plan:
    id = "plan_" + draw(run.seed, inv.span, "plan", planning.path)
    plan = Plan(id=id, author=inv.agent.id, goal=inv.original, steps=steps)
    artifact = keep(run, inv, "plan", rendered(run, plan))
    run.log.once(inv.place, PlanCreated(plan=plan, artifact=artifact, strategy=planning.strategy))
    return plan


def _given_up(run: Run, inv: Invocation, problems: list[str]) -> Outcome:
    error = f"no acceptable plan after {PLAN_TRIES} tries: {'; '.join(problems)}"
    run.log.once(inv.place, SystemError(error=error))
    return Outcome(
        agent=inv.agent.id,
        span=inv.span,
        report=Report(content=error, metadata={"reason": "invalid_plan", "diagnostics": problems}),
        stop_reason="SYSTEM_ERROR",
        error=error,
    )
