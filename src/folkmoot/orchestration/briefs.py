"""What a session is given, from where it stands in the run and what it is offered there; and what the gate goes by in
it, from the project's files and from those above it."""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import PARTS, AgentRole
from folkmoot.domain.events import BEHAVIOR, SessionStarted
from folkmoot.domain.gate import HUMAN, Approver, Policy, StepPolicy
from folkmoot.domain.message import ToolCall, ToolSpec, fingerprint
from folkmoot.domain.naming import QUESTIONS, wire_name
from folkmoot.domain.plan import Plan
from folkmoot.domain.rules import Caller
from folkmoot.domain.sources import SECRET_PATHS
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.plan_tool import PLAN_UPDATE
from folkmoot.orchestration.readings import ASKING_AGENTS, outside, untrusted_tools
from folkmoot.orchestration.references import ARTIFACT_READ
from folkmoot.session.state import Brief

_OWN_TOOLS = frozenset((*ASKING_AGENTS, *QUESTIONS, PLAN_UPDATE.name, ARTIFACT_READ))

_BEGINNING = ("task_start", "task_pick_backlog")
"""Whoever has none of these could never do as the task enforcer says."""


def policy_for(
    graph: Graph, agent: Agent, kit: Kit, *, above: Approver = "human", behavior: int = BEHAVIOR
) -> Policy:
    """`above` is the agent that could be asked for a word, if any."""
    settings, first = graph.settings, behavior == 1
    return Policy(
        caller=_caller(graph, agent),
        rules=settings.rules,
        escalate=settings.gate.escalate,
        approvers=_approvers(settings.approvals.approvers, above),
        expires=settings.approvals.expires or None,
        own=_OWN_TOOLS | {*kit.agents},
        untrusted=outside(graph, kit) if first else untrusted_tools(kit),
        trusted=settings.gate.trusted,
        secret=(*SECRET_PATHS, *settings.gate.secret),
        contains=settings.gate.taint == "on",
        recorded_first=first,
        ask_all=settings.gate.ask == "all",
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


_ROLES: dict[str, AgentRole] = {"planner": "PLANNER", "executor": "EXECUTOR"}


_ANY_STEP = StepPolicy()


def brief_for(run: Run, inv: Invocation) -> Brief:
    """For the agent's own session, or for the one in which it is asked again."""
    return brief_with(run, inv, run.kit(inv))


def brief_with(run: Run, inv: Invocation, kit: Kit) -> Brief:
    return Brief(
        agent=inv.agent,
        exits=kit.exits,
        tools=kit.tools,
        offered=_offered(kit, run.step.policy),
        schema_tokens=kit.schema_tokens,
        run=run.id,
        session=inv.session,
        span=inv.span,
        seed=run.seed,
        max_turns=inv.agent.tuning.max_turns,
        before=inv.before,
        turns_before=inv.turns_before,
        unlisted=kit.unlisted,
        last_exits=kit.last_exits,
        part=inv.cause if inv.cause in PARTS else "",
        policy=_policy(run, inv, kit),
        hops=inv.thread.hops,
        aloud=run.errand.aloud and inv.last and not inv.agent.handoff,
        trace=run.trace,
        work_dir=inv.work_dir,
    )


def _offered(kit: Kit, step: StepPolicy) -> tuple[ToolSpec, ...]:
    if step.tools is None and step.acting is None:
        return kit.offered
    return (*(spec for spec in kit.tools if step.names(spec.name, spec.access)), *kit.exits)


def _policy(run: Run, inv: Invocation, kit: Kit) -> Policy:
    """Made once for all sessions with the same kit; only what a session begins with is its own."""
    own, taint, above, behavior = run.kit(inv), inv.taint(run), _above(run, inv), run.behavior
    key, policies = (id(own), above, behavior), run.kits.policies
    if kit is not own:  # a part of an agent's work has a kit without them
        known = replace(kit, agents=own.agents, brought=own.brought)
        policy = policy_for(run.graph, inv.agent, known, above=above, behavior=behavior)
    elif key in policies:
        policy = policies[key]
    else:
        policy = policies[key] = policy_for(run.graph, inv.agent, own, above=above, behavior=behavior)
    if not taint and run.step.policy == _ANY_STEP:
        return policy
    return replace(policy, taint=taint, step=run.step.policy)


def _above(run: Run, inv: Invocation) -> Approver:
    """Who could be asked for a word: the agent that waits for it, or the lead of its team."""
    if inv.cause == "member" and inv.parent in run.leads:
        return "lead"
    return "parent" if inv.parent in run.under_way else "human"


def opening(run: Run, inv: Invocation) -> SessionStarted:
    return SessionStarted(
        inv.agent.file,
        inv.prompt(run),
        parent=inv.parent,
        cause=inv.cause,
        title=inv.title,
        agent_role=_ROLES.get(inv.cause, ""),
        parts=inv.parts,
        sources=() if run.behavior == 1 else inv.taint(run),
    )
