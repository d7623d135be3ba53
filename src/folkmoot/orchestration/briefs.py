"""What a session is given, from where it stands in the run and what it is offered there."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.event import PARTS, AgentRole
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.gate import Approver, Policy
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.step_policy import StepPolicy
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.policy import policy_for
from folkmoot.session.state import Brief

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
    own, taint, above = run.kit(inv), inv.taint(run), _above(run, inv)
    if kit is not own:
        # a part of an agent's work has a kit without them
        known = replace(kit, agents=own.agents, brought=own.brought)
        return policy_for(
            run.graph,
            inv.agent,
            known,
            taint=taint,
            above=above,
            step=run.step.policy,
            behavior=run.behavior,
        )
    key, policies = (id(own), above, run.behavior), run.kits.policies
    if key not in policies:
        policies[key] = policy_for(run.graph, inv.agent, own, above=above, behavior=run.behavior)
    if not taint and run.step.policy == _ANY_STEP:
        return policies[key]
    return replace(policies[key], taint=taint, step=run.step.policy)


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
