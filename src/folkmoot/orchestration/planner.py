"""An agent makes a plan: a session of its own file that has no tools, and whose answer must be one.

What it wrote is judged here; a plan that is not complete is sent back once, with everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.errand import Block
from folkmoot.domain.events import SystemError
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import draw, wire_name
from folkmoot.domain.plan import (
    PLAN_STEPS,
    PLAN_TRIES,
    TURNS_PER_TRY,
    Plan,
    PlanCreated,
    PlanRejected,
    PlanStep,
)
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import brief_with
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.kit import bare_kit
from folkmoot.orchestration.references import Reference, artifacts_of, as_json, keep
from folkmoot.session.schema import violations
from folkmoot.session.state import Brief

LARGEST = 64 * 1024
"""Bytes; whatever is longer is kept as an artifact and referred to by its id."""

_WORD = {"type": "string", "pattern": r"\S"}
_IDS = {"type": "array", "items": {"type": "string"}}
_STEP = {
    "type": "object",
    "properties": {
        "action_type": _WORD,
        "rationale": _WORD,
        "expected_outputs": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "stop_condition": _WORD,
        "description": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "artifact_ids": _IDS,
        "manifest_ids": _IDS,
        "evidence_ids": _IDS,
    },
    "required": ["action_type", "rationale", "expected_outputs", "stop_condition"],
    "additionalProperties": False,
}
_STEPS = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": _STEP, "minItems": 1, "maxItems": PLAN_STEPS}},
    "required": ["steps"],
    "additionalProperties": False,
}


class Known(Value):
    """What a plan may name."""

    tools: tuple[str, ...]
    """By their names on the wire."""
    artifacts: frozenset[str] = frozenset()
    manifests: frozenset[str] = frozenset()
    evidence: frozenset[str] = frozenset()


def read_steps(text: str, known: Known) -> tuple[PlanStep, ...] | list[str]:
    """The steps, or what is wrong; prose around the JSON is dropped, so that it reaches nobody."""
    if len(text.encode()) > LARGEST:
        return [f"the plan is longer than {LARGEST // 1024} KB; refer to long content by its id"]
    given = _object_in(text)
    if given is None:
        return ["there is no JSON object in the answer"]
    several = "steps" in given
    if wrong := violations(given, _STEPS if several else _STEP):
        return wrong
    steps = msgspec.convert(given["steps"] if several else [given], tuple[PlanStep, ...])
    numbered = tuple(_named(step, number) for number, step in enumerate(steps, start=1))
    return _dangling(numbered, known) or numbered


def _object_in(text: str) -> dict[str, Any] | None:
    begin = text.find("{")
    if begin < 0:
        return None
    try:
        found, _ = JSONDecoder().raw_decode(text, begin)
    except (JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _named(step: PlanStep, number: int) -> PlanStep:
    calls = tuple(replace(call, name=wire_name(call.name)) for call in step.tool_calls)
    return replace(step, id=f"s{number}", order=number, tool_calls=calls)


def _dangling(steps: Sequence[PlanStep], known: Known) -> list[str]:
    """What the steps name that does not exist in this run."""
    wrong = []
    for step in steps:
        named: tuple[tuple[str, Collection[str], Collection[str]], ...] = (
            ("tool_calls", [call.name for call in step.tool_calls], known.tools),
            ("artifact_ids", step.artifact_ids, known.artifacts),
            ("manifest_ids", step.manifest_ids, known.manifests),
            ("evidence_ids", step.evidence_ids, known.evidence),
        )
        for field, names, there in named:
            wrong += [
                f"step {step.order}, {field}: there is no {name!r}" for name in names if name not in there
            ]
    return wrong


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
