"""What a session is given, from where it stands in the run and what it is offered there; what the gate goes by in it,
from the project's files and from those above it; and why an agent may call what it may (`explain`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import PARTS, AgentRole
from folkmoot.domain.events import BEHAVIOR, SessionStarted
from folkmoot.domain.gate import HUMAN, Allow, Approver, Ask, Policy, Standing, StepPolicy
from folkmoot.domain.message import ToolCall, ToolSpec, fingerprint
from folkmoot.domain.naming import GROUPS, QUESTIONS, wire_name
from folkmoot.domain.plan import Plan
from folkmoot.domain.rules import Caller, Rule, fits
from folkmoot.domain.sources import SECRET_PATHS
from folkmoot.domain.value import Value
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import InheritedLimits, SessionToolset, ToolsetFactory, is_strict
from folkmoot.orchestration.runtime_tools import ARTIFACT_READ, ASKING_AGENTS, PLAN_UPDATE
from folkmoot.session.gate import judge
from folkmoot.session.state import Brief

_OWN_TOOLS = frozenset((*ASKING_AGENTS, *QUESTIONS, PLAN_UPDATE.name, ARTIFACT_READ))
_BEGINNING = ("task_start", "task_pick_backlog")
"""Whoever has none of these could never do as the task enforcer says."""
_ROLES: dict[str, AgentRole] = {"planner": "PLANNER", "executor": "EXECUTOR"}
_ANY_STEP = StepPolicy()
FORMULA = (
    "offered = declared(agent) ∩ allowlist(run) ∩ policy(step) − gated(session) + system tools of the role"
)


def build_policy(
    graph: Graph, agent: Agent, kit: SessionToolset, *, above: Approver = "human", behavior: int = BEHAVIOR
) -> Policy:
    """`above` is the agent that could be asked for a word, if any. A person is always the last to be asked, because
    they pass nothing on."""
    settings, first = graph.settings, behavior == 1
    file, _, made_up = agent.file.partition("#")
    maker = graph.agents.get(file) if made_up else None
    agents = takewhile(lambda each: each != "human", settings.approvals.approvers)
    return Policy(
        caller=Caller((agent.id, agent.file), (maker.id, maker.file) if maker else ()),
        rules=settings.rules,
        escalate=settings.gate.escalate,
        approvers=(*(each for each in agents if each == above), *HUMAN),
        expires=settings.approvals.expires or None,
        own=_OWN_TOOLS | {*kit.agents},
        untrusted=kit.outside(graph) if first else kit.untrusted,
        trusted=settings.gate.trusted,
        secret=(*SECRET_PATHS, *settings.gate.secret),
        contains=settings.gate.taint == "on",
        recorded_first=first,
        ask_all=settings.gate.ask == "all",
        needs_task=settings.tasks.enforce and any(spec.name in _BEGINNING for spec in kit.tools),
    )


def hash_planned_calls(plan: Plan) -> frozenset[str]:
    """The calls that a plan names, each by its hash."""
    calls = (call for step in plan.steps for call in step.tool_calls)
    return frozenset(fingerprint(ToolCall("", wire_name(call.name), call.arguments)) for call in calls)


def build_brief(run: Run, inv: Invocation) -> Brief:
    """For the agent's own session, or for the one in which it is asked again."""
    return build_brief_with(run, inv, run.kit(inv))


def build_brief_with(run: Run, inv: Invocation, kit: SessionToolset) -> Brief:
    return Brief(
        agent=inv.agent,
        toolset=_restrict_toolset(kit, run.step.policy),
        run=run.id,
        session=inv.session,
        span=inv.span,
        seed=run.seed,
        max_turns=inv.agent.tuning.max_turns,
        before=inv.before,
        turns_before=inv.turns_before,
        part=inv.cause if inv.cause in PARTS else "",
        policy=_find_session_policy(run, inv, kit),
        hops=inv.thread.hops,
        aloud=run.errand.aloud and inv.last and not inv.agent.handoff,
        trace=run.trace,
        work_dir=inv.work_dir,
    )


def _restrict_toolset(kit: SessionToolset, step: StepPolicy) -> SessionToolset:
    """Only what the step of a plan may use is offered."""
    if step.tools is None and step.acting is None:
        return kit
    tools = (spec for spec in kit.tools if step.names(spec.name, spec.access))
    return replace(kit, offered=(*tools, *kit.exits))


def _find_session_policy(run: Run, inv: Invocation, kit: SessionToolset) -> Policy:
    """Made once for all sessions with the same kit; only what a session begins with is its own."""
    own, taint, above, behavior = run.kit(inv), inv.taint(run), _find_approver(run, inv), run.behavior
    key, policies = (id(own), above, behavior), run.kits.policies
    if kit is not own:  # a part of an agent's work has a kit without them
        known = replace(kit, agents=own.agents, brought=own.brought)
        policy = build_policy(run.graph, inv.agent, known, above=above, behavior=behavior)
    elif key in policies:
        policy = policies[key]
    else:
        policy = policies[key] = build_policy(run.graph, inv.agent, own, above=above, behavior=behavior)
    if not taint and run.step.policy == _ANY_STEP:
        return policy
    return replace(policy, taint=taint, step=run.step.policy)


def _find_approver(run: Run, inv: Invocation) -> Approver:
    """Who could be asked for a word: the agent that waits for it, or the lead of its team."""
    if inv.cause == "member" and inv.parent in run.leads:
        return "lead"
    return "parent" if inv.parent in run.under_way else "human"


def build_session_started(run: Run, inv: Invocation) -> SessionStarted:
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


class ExplainedTool(Value, omit_defaults=False):
    """One tool of an agent."""

    tool: str
    """Its name on the wire."""
    access: str
    effect: str
    because: str
    """Why the agent has it."""
    allowlisted: bool
    """Whether it still has it where it was called by `call_agent`."""
    rules: tuple[str, ...] = ()
    """The rules that are about this tool and agent, in their order."""
    beyond: str = ""
    """What the gate asks about, beside the rules."""


class Explanation(Value, omit_defaults=False):
    agent: str
    formula: str
    tools: tuple[ExplainedTool, ...]
    system: tuple[str, ...]
    """What comes with the role, and ends its session or serves its work."""
    decision: Literal["allow", "ask", "refuse"] | None = None
    """Of the call that was given."""
    reason: str | None = None


def explain(
    graph: Graph, kits: ToolsetFactory, agent: Agent, tool: str = "", call: ToolCall | None = None
) -> Explanation:
    """Everything that an agent is offered as the root of a run, or one tool of it, or one call."""
    kit = kits.of(agent, InheritedLimits(strict=is_strict(graph, agent)))
    tool = graph.tool_name(tool)
    policy = build_policy(graph, agent, kit)
    allowlist = graph.settings.orchestration.sub_agent_tool_allowlist
    allowed = None if allowlist is None else kits.on_the_wire(allowlist) | {*kit.agents}
    tools = tuple(
        ExplainedTool(
            tool=spec.name,
            access=spec.access,
            effect=spec.effect,
            because=_describe_tool_origin(agent, kit, policy, spec),
            allowlisted=allowed is None or spec.name in allowed,
            rules=tuple(_describe_rules(policy, spec)),
            beyond="; ".join(_describe_gate_checks(policy, spec)),
        )
        for spec in kit.tools
        if spec.name in (tool, wire_name(tool)) or not tool
    )
    decision, reason = (
        _decide_call(kit, policy, replace(call, tool=wire_name(tool))) if call else (None, None)
    )
    return Explanation(agent.file, FORMULA, tools, tuple(spec.name for spec in kit.exits), decision, reason)


def _decide_call(
    kit: SessionToolset, policy: Policy, call: ToolCall
) -> tuple[Literal["allow", "ask", "refuse"], str]:
    spec = next((spec for spec in kit.tools if spec.name == call.tool), None)
    if spec is None:
        return "refuse", f"not_offered: the agent has no tool {call.tool!r}"
    match judge(policy, Standing(), call, spec):
        case Allow(reason):
            return "allow", reason
        case Ask(risk, why):
            return "ask", f"risk {risk}: {why or 'the tool itself wants a word for each call'}"
        case refused:
            return "refuse", f"{refused.code}: {refused.reason}"


def _describe_tool_origin(agent: Agent, kit: SessionToolset, policy: Policy, spec: ToolSpec) -> str:
    if spec.name in kit.agents:
        return f"{agent.file} names {kit.agents[spec.name].file} in `agents`"
    wires = {wire_name(name): name for name in agent.tools}
    if spec.name in policy.own and spec.name not in wires:
        return "a tool of the runtime"
    group = next((name for name in agent.tools if spec.name in GROUPS.get(name, ())), spec.name)
    named = wires.get(spec.name) or wires.get(spec.name.partition("__")[0], group)
    return f"{agent.file} names {named!r} in `tools`"


def _describe_rules(policy: Policy, spec: ToolSpec) -> Iterator[str]:
    for number, rule in enumerate(policy.rules, start=1):
        bare = replace(rule, arguments={}, hash=None)
        if fits(bare, policy.caller, ToolCall("", spec.name), spec):
            reason = f" ({rule.reason})" if rule.reason else ""
            yield f"rule {number}: {_describe_condition(rule)}{rule.decision}{reason}"


def _describe_condition(rule: Rule) -> str:
    wanted = []
    for path, match in rule.arguments.items():
        named = msgspec.to_builtins(match).items()
        words = " ".join(f"{name} {msgspec.json.encode(value).decode()}" for name, value in named)
        wanted.append(f"{path} {words}")
    wanted += ["the call is the one with this hash"] if rule.hash else []
    return f"if {' and '.join(wanted)}: " if wanted else ""


def _describe_gate_checks(policy: Policy, spec: ToolSpec) -> Iterator[str]:
    acts = spec.access != "read"
    if acts and policy.needs_task:
        yield "refused until the agent has a task in progress"
    if spec.asks:
        yield f"the tool asks before each call, risk {spec.asks}"
    if spec.access == "write":
        lines = policy.escalate.lines
        yield f"a change of more than {lines} lines or of a delicate path asks, risk high"
    if spec.untrusted:
        yield "its results are untrusted"
    if acts and policy.ask_all:
        yield "`gate: {ask: all}` asks before each call"
    if acts and policy.contains:
        yield "asks once the session has read untrusted text, unless a rule or its plan allows the call"
