"""The gate that every tool call passes: schema, session gate, task, plan, step, loop guard, budget, approval. Pure.

What is not offered never gets here: an agent's file, the allowlist of the run and the envelope of those above it
narrow what a session has at all (`orchestration/kit.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from folkmoot.domain.canonical import fingerprint
from folkmoot.domain.escalation import escalated, written_paths
from folkmoot.domain.gate import Allow, Ask, Decision, Policy, Refuse, Standing
from folkmoot.domain.message import Risk, ToolCall, ToolSpec
from folkmoot.domain.rules import Rule, first_match
from folkmoot.domain.step_policy import exceeded
from folkmoot.session.schema import misfit

_Stage = Callable[[Policy, Standing, ToolCall, ToolSpec], Refuse | None]


def judge(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Decision:
    for stage in _STAGES:
        if refused := stage(policy, standing, call, spec):
            return refused
    return _word(policy, standing, call, spec)


def _schema(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    if call.malformed:
        return Refuse("schema", "the arguments are not a JSON object")
    if call.tool in policy.own:
        return None
    wrong = misfit(call.arguments, spec)
    return Refuse("schema", wrong) if wrong else None


def _session_gate(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    return gated(call) if call.tool in standing.gated else None


def gated(call: ToolCall) -> Refuse:
    return Refuse("gated", f"{call.tool} is gated in this session")


def _task(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    if not policy.needs_task or standing.has_task or spec.access == "read":
        return None
    return Refuse(
        "no_task",
        f"{call.tool} is work, and you have no task in progress: start one (task_start), pick one from the backlog"
        " (task_pick_backlog) or note progress on the one you have (task_update), then call it again",
    )


def _plan(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    if standing.plan.names(call.tool, spec.access):
        return None
    if granted := ", ".join(standing.plan.acting or ()):
        return Refuse("policy", f"your plan was not granted {call.tool}; what it was granted: {granted}")
    return Refuse(
        "policy",
        f"{call.tool} is work, and your plan is not approved: end your work here, or learn with plan_status what was"
        " decided",
    )


def _step(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    step = policy.step
    if step.names(call.tool, spec.access):
        return None
    if step.names(call.tool):
        requested = ", ".join(step.acting or ()) or "reading ones only"
        return Refuse("policy", f"the plan was not granted {call.tool}; what it was granted: {requested}")
    allowed = ", ".join(step.tools or ()) or "none"
    return Refuse("policy", f"this step of the plan may not use {call.tool}; its tools: {allowed}")


def _loop(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    return Refuse("loop", standing.loop) if standing.loop else None


def _budget(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    if standing.pace.left < 1:
        return Refuse("rate_limited", standing.pace.limit)
    budget = policy.step.budget
    files = written_paths(call.arguments) if budget.files_changed is not None and _writes(spec) else None
    over = exceeded(budget, standing.spent, files or frozenset())
    return Refuse("budget", over) if over else None


_STAGES: tuple[_Stage, ...] = (_schema, _session_gate, _task, _plan, _step, _loop, _budget)


def _word(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Decision:
    """Whether somebody must say a word first. What a fork may repeat, and what escalates, no rule lets through."""
    number = first_match(policy.rules, policy.caller, call, spec)
    rule = policy.rules[number - 1] if number else None
    said = f"rule {number}" + (f": {rule.reason}" if rule and rule.reason else "")
    if rule and rule.decision == "deny":
        return Refuse("denied", said)
    if spec.asks == "fork":
        return Ask("fork")
    if standing.granted and (by := standing.granted.get(fingerprint(call))):
        return Allow(f"granted: {by}")
    delicate = escalated(call.arguments, policy.escalate) if _writes(spec) else ""
    if delicate and not (rule and rule.decision == "allow" and rule.hash):
        return Ask("high", delicate)
    return _ruled(policy, rule, said) if rule else _unruled(policy, standing, call, spec)


def _ruled(policy: Policy, rule: Rule, said: str) -> Allow | Ask:
    return Allow(f"allowed: {said}") if rule.decision == "allow" else _ask(policy, rule.risk, said)


def _unruled(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Allow | Ask:
    step, acts = policy.step.approval, spec.access != "read"
    if acts and policy.outside is not None and (source := policy.taint or standing.taint):
        if policy.taint or not policy.planned or fingerprint(call) not in policy.planned:
            return _ask(policy, spec.asks or "medium", f"the session has read {source}")
        return Allow("allowed: the plan names this very call")
    if acts and step == "ask":
        return _ask(policy, spec.asks or "medium", "this step of the plan asks before each call")
    if spec.asks and step == "auto" and spec.asks != "high":
        return Allow("allowed: this step of the plan needs no word")
    if spec.asks:
        return _ask(policy, spec.asks, "")
    return Allow(f"allowed: {policy.caller.names[-1] if policy.caller.names else ''} names it")


def _ask(policy: Policy, risk: Risk, why: str) -> Ask:
    """What is at high risk is decided by a person alone."""
    return Ask(risk, why) if risk == "high" else Ask(risk, why, policy.approvers)


def _writes(spec: ToolSpec) -> bool:
    return spec.access == "write"
