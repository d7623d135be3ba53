"""From what a planner wrote to the steps of a plan, or to everything that is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.naming import wire_name
from folkmoot.domain.plan import PLAN_STEPS, PlanStep
from folkmoot.domain.value import Value
from folkmoot.session.schema import violations

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
