"""What an agent may call and why: the derivation of everything it is offered, and what the gate would say. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.gate import Allow, Ask, Policy, Standing
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.naming import GROUPS, wire_name
from folkmoot.domain.rules import Rule, fits
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import policy_for
from folkmoot.orchestration.kit import Kit, Kits, Reach, is_strict
from folkmoot.session.gate import judge

FORMULA = (
    "offered = declared(agent) ∩ allowlist(run) ∩ policy(step) − gated(session) + system tools of the role"
)


class Explained(Value, omit_defaults=False):
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
    tools: tuple[Explained, ...]
    system: tuple[str, ...]
    """What comes with the role, and ends its session or serves its work."""
    decision: Literal["allow", "ask", "refuse"] | None = None
    """Of the call that was given."""
    reason: str | None = None


def explain(
    graph: Graph, kits: Kits, agent: Agent, tool: str = "", call: ToolCall | None = None
) -> Explanation:
    """Everything that an agent is offered as the root of a run, or one tool of it, or one call."""
    kit = kits.of(agent, Reach(strict=is_strict(graph, agent)))
    tool = graph.tool_name(tool)
    call = call and msgspec.structs.replace(call, tool=wire_name(tool))
    policy = policy_for(graph, agent, kit)
    tools = tuple(
        _explained(graph, kits, agent, kit, policy, spec)
        for spec in kit.tools
        if tool in ("", spec.name) or wire_name(tool) == spec.name
    )
    decision, reason = _decided(kit, policy, call) if call else (None, None)
    return Explanation(
        agent=agent.file,
        formula=FORMULA,
        tools=tools,
        system=tuple(spec.name for spec in kit.exits),
        decision=decision,
        reason=reason,
    )


def _decided(kit: Kit, policy: Policy, call: ToolCall) -> tuple[Literal["allow", "ask", "refuse"], str]:
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


def _explained(graph: Graph, kits: Kits, agent: Agent, kit: Kit, policy: Policy, spec: ToolSpec) -> Explained:
    allowlist = graph.settings.orchestration.sub_agent_tool_allowlist
    return Explained(
        tool=spec.name,
        access=spec.access,
        effect=spec.effect,
        because=_because(agent, kit, policy, spec),
        allowlisted=allowlist is None or spec.name in kit.agents or spec.name in kits.on_the_wire(allowlist),
        rules=tuple(_rules(policy, spec)),
        beyond=_beyond(graph, policy, spec),
    )


def _because(agent: Agent, kit: Kit, policy: Policy, spec: ToolSpec) -> str:
    if spec.name in kit.agents:
        return f"{agent.file} names {kit.agents[spec.name].file} in `agents`"
    if spec.name in policy.own and spec.name not in map(wire_name, agent.tools):
        return "a tool of the runtime"
    wires = {wire_name(name): name for name in agent.tools}
    group = next((name for name in agent.tools if spec.name in GROUPS.get(name, ())), spec.name)
    named = wires.get(spec.name) or wires.get(spec.name.partition("__")[0], group)
    return f"{agent.file} names {named!r} in `tools`"


def _rules(policy: Policy, spec: ToolSpec) -> Iterator[str]:
    for number, rule in enumerate(policy.rules, start=1):
        bare = msgspec.structs.replace(rule, arguments={}, hash=None)
        if fits(bare, policy.caller, ToolCall("", spec.name), spec):
            yield f"rule {number}: {_condition(rule)}{rule.decision}" + (
                f" ({rule.reason})" * bool(rule.reason)
            )


def _condition(rule: Rule) -> str:
    wanted = [f"{path} {_words(msgspec.to_builtins(match))}" for path, match in rule.arguments.items()]
    wanted += ["the call is the one with this hash"] if rule.hash else []
    return f"if {' and '.join(wanted)}: " if wanted else ""


def _words(match: dict[str, Any]) -> str:
    return " ".join(f"{name} {msgspec.json.encode(value).decode()}" for name, value in match.items())


def _beyond(graph: Graph, policy: Policy, spec: ToolSpec) -> str:
    asks = [f"the tool asks before each call, risk {spec.asks}"] if spec.asks else []
    if spec.access != "read" and policy.needs_task:
        asks.insert(0, "refused until the agent has a task in progress")
    if spec.access == "write":
        lines = policy.escalate.lines
        asks.append(f"a change of more than {lines} lines or of a delicate path asks, risk high")
    if spec.untrusted:
        asks.append("its results are untrusted")
    if spec.access != "read" and policy.ask_all:
        asks.append("`gate: {ask: all}` asks before each call")
    if spec.access != "read" and policy.contains:
        asks.append(
            "asks once the session has read untrusted text, unless a rule or its plan allows the call"
        )
    return "; ".join(asks)
