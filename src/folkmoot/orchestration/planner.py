"""An agent makes a plan: a session of its own file that has no tools, and whose answer must be one.

What it wrote is judged here; a plan that is not complete is sent back once, with everything that is wrong. With
`plan__update` whoever works by a plan says where it stands, or changes what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import reduce
from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.errand import Block
from folkmoot.domain.events import SystemError
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import draw, wire_name
from folkmoot.domain.plan import (
    PLAN_STEPS,
    PLAN_TRIES,
    TURNS_PER_TRY,
    Plan,
    PlanCreated,
    PlanRejected,
    PlanStep,
    PlanUpdated,
    StepCompleted,
    StepStarted,
)
from folkmoot.domain.records import carried_on
from folkmoot.domain.report import Outcome
from folkmoot.domain.spans import child_span, parent_span
from folkmoot.errors import WrongUse
from folkmoot.orchestration.briefs import build_brief_with
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import SessionToolset
from folkmoot.orchestration.references import (
    ArtifactReference,
    as_json,
    find_run_artifacts,
    store_artifact,
)
from folkmoot.orchestration.runtime_tools import PlanUpdate, read_arguments
from folkmoot.ports import Site
from folkmoot.session.exits import object_schema
from folkmoot.session.schema import violations
from folkmoot.session.state import Brief
from folkmoot.session.steps import failed_outcome

LARGEST = 64 * 1024
"""Bytes; whatever is longer is kept as an artifact and referred to by its id."""

_WORD = {"type": "string", "pattern": r"\S"}
_IDS = {"type": "array", "items": {"type": "string"}}
_CALL = object_schema({"name": {"type": "string"}, "arguments": {"type": "object"}}, ["name"])
_STEP = object_schema(
    {
        "action_type": _WORD,
        "rationale": _WORD,
        "expected_outputs": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "stop_condition": _WORD,
        "description": {"type": "string"},
        "tool_calls": {"type": "array", "items": _CALL},
        "artifact_ids": _IDS,
        "manifest_ids": _IDS,
        "evidence_ids": _IDS,
    },
    ["action_type", "rationale", "expected_outputs", "stop_condition"],
)
_STEPS = object_schema(
    {"steps": {"type": "array", "items": _STEP, "minItems": 1, "maxItems": PLAN_STEPS}}, ["steps"]
)
KnownReferences = Mapping[str, Collection[str]]
"""What a plan may name, by the field of a step that names it."""


def parse_steps(text: str, known: KnownReferences) -> tuple[PlanStep, ...] | list[str]:
    """The steps, or what is wrong; prose around the JSON is dropped, so that it reaches nobody."""
    if len(text.encode()) > LARGEST:
        return [f"the plan is longer than {LARGEST // 1024} KB; refer to long content by its id"]
    given = _find_json_object(text)
    if given is None:
        return ["there is no JSON object in the answer"]
    several = "steps" in given
    if wrong := violations(given, _STEPS if several else _STEP):
        return wrong
    steps = msgspec.convert(given["steps"] if several else [given], tuple[PlanStep, ...])
    numbered = tuple(_number_step(step, number) for number, step in enumerate(steps, start=1))
    return [fault for step in numbered for fault in _find_unknown_references(step, known)] or numbered


def _find_json_object(text: str) -> dict[str, Any] | None:
    begin = text.find("{")
    if begin < 0:
        return None
    try:
        found, _ = JSONDecoder().raw_decode(text, begin)
    except (JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number_step(step: PlanStep, number: int) -> PlanStep:
    calls = tuple(replace(call, name=wire_name(call.name)) for call in step.tool_calls)
    return replace(step, id=f"s{number}", order=number, tool_calls=calls)


def _find_unknown_references(step: PlanStep, known: KnownReferences) -> Iterator[str]:
    """What a step names that does not exist in this run."""
    named = {
        "tool_calls": tuple(call.name for call in step.tool_calls),
        "artifact_ids": step.artifact_ids,
        "manifest_ids": step.manifest_ids,
        "evidence_ids": step.evidence_ids,
    }
    for field, names in named.items():
        missing = (name for name in names if name not in known[field])
        yield from (f"step {step.order}, {field}: there is no {name!r}" for name in missing)


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


PlanRejectionHandler = Callable[[Invocation, list[str], bool], None]
"""Told of a plan that was sent back: where, what is wrong with it, and whether there is no other try."""


class PlanRequest(msgspec.Struct, frozen=True):
    """How a plan is asked for: `await Planning(run, inv, "spar", tools).draft()`."""

    run: Run
    inv: Invocation
    strategy: str
    tools: tuple[ToolSpec, ...]
    """What whoever carries it out will have."""
    references: tuple[ArtifactReference, ...] = ()
    """What the plan may refer to by id."""
    path: str = ""
    """Where below the agent's place, if it plans more than once: `round:2/`."""

    async def draft(self, rejected: PlanRejectionHandler | None = None) -> Plan | Outcome:
        """The plan, or the failure that stands in its place."""
        problems: list[str] = []
        for number in range(1, PLAN_TRIES + 1):
            asked = self._asked(number, problems)
            outcome = await self.run.converse(asked, self._brief(asked))
            if outcome.failed and outcome.stop_reason != "MAX_TURNS":
                return outcome
            said = outcome.report.content
            steps = [outcome.error] if outcome.failed else parse_steps(said, self._known())
            if isinstance(steps, tuple):
                return self._created(steps)
            problems = steps
            self.run.log.once(asked.place, PlanRejected(problems=tuple(problems)))
            if rejected:
                rejected(asked, problems, number == PLAN_TRIES)
        return self._given_up(problems)

    def manifest(self, role: str, **more: object) -> ArtifactReference:
        """What a part of the work is shown, and why: kept, and named by its id."""
        agent = self.inv.agent
        shown = {
            "run_id": self.run.id,
            "agent_role": role,
            "agent": agent.file,
            "tools": [spec.name for spec in self.tools],
            "included": self.references,
            "invariants": {
                "output_format": agent.output.format,
                "max_turns": agent.tuning.max_turns,
                "budget": agent.budget,
            },
            **more,
        }
        return ArtifactReference(store_artifact(self.run, self.inv, "manifest", shown), "manifest")

    def _asked(self, number: int, problems: list[str]) -> Invocation:
        asked = self.inv.part(self.run, "planner", f"{self.path}planner/try:{number}")
        if not problems:
            return asked
        listed = "\n".join(f"- {problem}" for problem in problems)
        wrong = f"Your plan was not accepted:\n{listed}\nGive a plan without these faults."
        return asked.with_blocks(Block("rejected_plan", wrong))

    def _brief(self, asked: Invocation) -> Brief:
        tools = "\n".join(f"- {spec.name}: {spec.description.partition(chr(10))[0]}" for spec in self.tools)
        ids = "\n".join(f"- {ref.id}: {ref.kind} {ref.source}".rstrip() for ref in self.references)
        told = _PLAN.format(
            tools=f"It can be done with these tools:\n{tools}" if tools else "There are no tools for it.",
            references=f"These ids can be referred to:\n{ids}" if ids else "",
        )
        agent = asked.agent
        planner = replace(agent, prompt=f"{agent.prompt}\n\n{told}".strip(), output=Output())
        turns = min(TURNS_PER_TRY, agent.tuning.max_turns)
        return replace(build_brief_with(self.run, asked, SessionToolset()), agent=planner, max_turns=turns)

    def _known(self) -> KnownReferences:
        artifacts = find_run_artifacts(self.run)
        return {
            "tool_calls": {spec.name for spec in self.tools},
            "artifact_ids": artifacts,
            "manifest_ids": {id for id, kind in artifacts.items() if kind == "manifest"},
            "evidence_ids": self.run.evidence.results,
        }

    def _created(self, steps: tuple[PlanStep, ...]) -> Plan:
        run, inv = self.run, self.inv
        id = "plan_" + draw(run.seed, inv.span, "plan", self.path)
        plan = Plan(id=id, author=inv.agent.id, goal=inv.original, steps=steps)
        artifact = store_artifact(run, inv, "plan", render_plan(run, plan))
        run.log.once(inv.place, PlanCreated(plan=plan, artifact=artifact, strategy=self.strategy))
        return plan

    def _given_up(self, problems: list[str]) -> Outcome:
        error = f"no acceptable plan after {PLAN_TRIES} tries: {'; '.join(problems)}"
        self.run.log.once(self.inv.place, SystemError(error=error))
        why = {"reason": "invalid_plan", "diagnostics": problems}
        return failed_outcome(self.inv.agent.id, self.inv.span, "SYSTEM_ERROR", error, **why)


def render_plan(run: Run, plan: Plan) -> str:
    """The plan as whoever carries it out reads it: typed, and nothing of what its planner said besides."""
    return as_json({"plan_id": plan.id, "run_id": run.id, "objective": plan.goal, "steps": plan.steps})


async def update_plan(run: Run, inv: Invocation, call: ToolCall, site: Site) -> ToolResult:
    asked = read_arguments(call.arguments, PlanUpdate)
    plan = find_current_plan(run, parent_span(inv.span))
    if asked.step and asked.step not in (step.id for step in plan.steps):
        known = ", ".join(step.id for step in plan.steps)
        raise WrongUse(f"there is no step {asked.step!r}; there are {known}")
    if len(plan.steps) + len(asked.add) > PLAN_STEPS:
        raise WrongUse(f"a plan has at most {PLAN_STEPS} steps")
    _record_update(run, inv, plan, asked)
    stands = find_current_plan(run, parent_span(inv.span))
    lines = (f"{step.id} {step.status}: {step.description or step.action_type}" for step in stands.steps)
    return ToolResult(text="\n".join(lines))


def find_current_plan(run: Run, span: str) -> Plan:
    """The plan that was made for the agent at this place, as it stands now."""
    made = next(event.plan for event in run.log.of(span) if isinstance(event, PlanCreated))
    return reduce(carried_on, run.log.of(child_span(span, "executor")), made)


def _record_update(run: Run, inv: Invocation, plan: Plan, asked: PlanUpdate) -> None:
    if asked.step and asked.status == "in_progress":
        run.log.once(inv.place, StepStarted(plan=plan.id, step=asked.step))
    elif asked.step:
        done = StepCompleted(plan.id, asked.step, success=asked.status == "done", note=asked.note)
        run.log.once(inv.place, done)
    known = {step.description for step in plan.steps}
    added = tuple(
        _build_added_step(text, number)
        for number, text in enumerate((text for text in asked.add if text not in known), len(plan.steps) + 1)
    )
    if added:
        run.log.once(inv.place, PlanUpdated(plan.id, (*plan.steps, *added), asked.note))


def _build_added_step(text: str, number: int) -> PlanStep:
    return PlanStep(
        action_type="STEP",
        rationale="added while the plan was carried out",
        expected_outputs=(),
        stop_condition="",
        description=text,
        id=f"s{number}",
        order=number,
    )
