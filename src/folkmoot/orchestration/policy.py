"""What the gate goes by in a session: from the project's files, and from those above the session."""

from __future__ import annotations

from itertools import takewhile

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.canonical import fingerprint
from folkmoot.domain.events import BEHAVIOR
from folkmoot.domain.gate import HUMAN, Approver, Policy
from folkmoot.domain.message import ToolCall
from folkmoot.domain.naming import QUESTIONS, wire_name
from folkmoot.domain.plan import Plan
from folkmoot.domain.rules import Caller
from folkmoot.domain.sources import SECRET_PATHS, Sources
from folkmoot.domain.step_policy import StepPolicy
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.plan_tool import PLAN_UPDATE
from folkmoot.orchestration.readings import ASKING_AGENTS, outside, untrusted_tools
from folkmoot.orchestration.references import ARTIFACT_READ

_OWN = frozenset((*ASKING_AGENTS, *QUESTIONS, PLAN_UPDATE.name, ARTIFACT_READ))

_BEGINNING = ("task_start", "task_pick_backlog")
"""Whoever has none of these could never do as the task enforcer says."""


def policy_for(  # noqa: PLR0913  # because each comes from somewhere else
    graph: Graph,
    agent: Agent,
    kit: Kit,
    *,
    taint: Sources = (),
    above: Approver = "human",
    step: StepPolicy = StepPolicy(),
    behavior: int = BEHAVIOR,
) -> Policy:
    """`taint` is what the session begins with; `above` is the agent that could be asked for a word, if any;
    `step` is what the step of a plan may do that the run carries out."""
    settings, first = graph.settings, behavior == 1
    return Policy(
        caller=_caller(graph, agent),
        rules=settings.rules,
        escalate=settings.gate.escalate,
        approvers=_approvers(settings.approvals.approvers, above),
        expires=settings.approvals.expires or None,
        own=_OWN | {*kit.agents},
        untrusted=outside(graph, kit) if first else untrusted_tools(kit),
        trusted=settings.gate.trusted,
        secret=(*SECRET_PATHS, *settings.gate.secret),
        contains=settings.gate.taint == "on",
        taint=taint,
        recorded_first=first,
        ask_all=settings.gate.ask == "all",
        step=step,
        needs_task=settings.tasks.enforce and any(spec.name in _BEGINNING for spec in kit.tools),
    )


def _approvers(wanted: tuple[Approver, ...], above: Approver) -> tuple[Approver, ...]:
    """A person is always the last, because they pass nothing on."""
    agents = takewhile(lambda each: each != "human", wanted)
    return (*(each for each in agents if each == above), *HUMAN)


def planned(plan: Plan) -> frozenset[str]:
    """The calls that a plan names, each by its hash."""
    calls = (call for step in plan.steps for call in step.tool_calls)
    return frozenset(fingerprint(ToolCall("", wire_name(call.name), call.arguments)) for call in calls)


def _caller(graph: Graph, agent: Agent) -> Caller:
    file, _, made_up = agent.file.partition("#")
    maker = graph.agents.get(file)
    above = (maker.id, maker.file) if made_up and maker else ()
    return Caller((agent.id, agent.file), above)
