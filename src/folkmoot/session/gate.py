"""The gate that every tool call passes: a list of stages, each of which decides or leaves it to the next. Pure.

What is not offered never gets here: an agent's file, the allowlist of the run and the envelope of those above it
narrow what a session has at all (`orchestration/kit.py`).

What an agent's own task and plan allow follows from what the tools record of them, and from the calls themselves: after
it submitted a plan it may read until that is approved, then do what it requested. Whatever a plan says, its agent may
have made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.gate import HUMAN, Allow, Ask, Decision, Policy, Refuse, Standing, StepPolicy, exceeded
from folkmoot.domain.message import Risk, ToolCall, ToolSpec, fingerprint
from folkmoot.domain.naming import GROUPS
from folkmoot.domain.older_entries import plan_states, task_states
from folkmoot.domain.rules import Rule, first_match
from folkmoot.domain.sources import Sources, escalated, joined, named, named_paths, secret, untrusted
from folkmoot.domain.value import Value
from folkmoot.session.schema import misfit

SUBMIT = "plan_submit"
ANYTHING, READING = StepPolicy(), StepPolicy(acting=())
_AGREED = ("approved", "committed", "done")
_Stage = Callable[[Policy, Standing, ToolCall, ToolSpec], Decision | None]


def judge(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Decision:
    for stage in _STAGES:
        if decision := stage(policy, standing, call, spec):
            return decision
    return Allow(f"allowed: {policy.caller.names[-1] if policy.caller.names else ''} names it")


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
    counts = budget.files_changed is not None and spec.access == "write"
    over = exceeded(budget, standing.spent, named_paths(call.arguments) if counts else frozenset())
    return Refuse("budget", over) if over else None


def _denying_rule(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Refuse | None:
    rule, said = _rule(policy, call, spec)
    return Refuse("denied", said) if rule and rule.decision == "deny" else None


def _fork(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Ask | None:
    return Ask("fork") if spec.asks == "fork" else None


def _granted(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Allow | None:
    by = standing.granted.get(fingerprint(call)) if standing.granted else None
    return Allow(f"granted: {by}", "granted") if by else None


def _escalation(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Ask | None:
    """No rule lets it through but one for the very call."""
    delicate = escalated(call.arguments, policy.escalate) if spec.access == "write" else ""
    if not delicate:
        return None
    rule, _ = _rule(policy, call, spec)
    return None if rule and rule.decision == "allow" and rule.hash else Ask("high", delicate)


def _rules(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Allow | Ask | None:
    rule, said = _rule(policy, call, spec)
    if rule is None:
        return None
    return Allow(f"allowed: {said}") if rule.decision == "allow" else _ask(policy, rule.risk, said)


def _untrusted(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Allow | Ask | None:
    """What a session has read must not decide what it does."""
    if spec.access == "read" or not policy.contains:
        return None
    at_first, read = untrusted(policy.taint), untrusted(joined(policy.taint, standing.taint))
    if not read:
        return None
    if policy.planned and not at_first and fingerprint(call) in policy.planned:
        return Allow("allowed: the plan names this very call")
    return _ask(policy, spec.asks or "medium", f"the session has read {named(read)}", read)


def _secret(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Ask | None:
    """What a session has read must not get out."""
    if spec.access not in ("egress", "exec") or not policy.contains:
        return None
    read = secret(joined(policy.taint, standing.taint))
    return _ask(policy, spec.asks or "medium", f"the session has read {named(read)}", read) if read else None


def _asking(policy: Policy, standing: Standing, call: ToolCall, spec: ToolSpec) -> Allow | Ask | None:
    """What the step of a plan, the settings or the tool itself want."""
    step, acts = policy.step.approval, spec.access != "read"
    if acts and step == "ask":
        return _ask(policy, spec.asks or "medium", "this step of the plan asks before each call")
    if acts and policy.ask_all:
        return _ask(policy, spec.asks or "medium", "`gate: {ask: all}` asks before each call that acts")
    if spec.asks and step == "auto" and spec.asks != "high":
        return Allow("allowed: this step of the plan needs no word")
    return _ask(policy, spec.asks, "") if spec.asks else None


_STAGES: tuple[_Stage, ...] = (
    _schema,
    _session_gate,
    _task,
    _plan,
    _step,
    _loop,
    _budget,
    _denying_rule,
    _fork,
    _granted,
    _escalation,
    _rules,
    _untrusted,
    _secret,
    _asking,
)


def _rule(policy: Policy, call: ToolCall, spec: ToolSpec) -> tuple[Rule | None, str]:
    """The first that fits, and how it is called."""
    number = first_match(policy.rules, policy.caller, call, spec) if policy.rules else 0
    if not number:
        return None, ""
    rule = policy.rules[number - 1]
    return rule, f"rule {number}" + (f": {rule.reason}" if rule.reason else "")


def _ask(policy: Policy, risk: Risk, why: str, sources: Sources = ()) -> Ask:
    """What is at high risk, and what untrusted text may have asked for, is decided by a person alone."""
    if policy.recorded_first:
        sources = ()
    return Ask(risk, why, HUMAN if risk == "high" or sources else policy.approvers, sources)


class Submitted(Value):
    """The last plan that was submitted; the empty one: none was."""

    plan: str = ""
    requested: tuple[str, ...] = ()
    agreed: bool = False

    def policy(self, calls: Sequence[ToolCall]) -> StepPolicy:
        """`calls` are those of the answer that is looked at: one beside a submission comes too early."""
        if any(call.tool == SUBMIT for call in calls):
            return READING
        if not self.plan:
            return ANYTHING
        return StepPolicy(acting=self.requested) if self.agreed else READING


def submitted(before: Submitted, event: ToolFinished, call: ToolCall) -> Submitted:
    """After one more result of a tool for plans."""
    plans = plan_states(event.text) if event.records is None else event.records
    for plan in plans:
        if event.tool == SUBMIT:
            return Submitted(plan.id, tuple(dict.fromkeys(_requested(call))), plan.status in _AGREED)
        if plan.id == before.plan:
            return Submitted(plan.id, before.requested, plan.status in _AGREED)
    return before


def _requested(call: ToolCall) -> Iterator[str]:
    """As a whole and for single steps, as in `Plan.requested`; the tool has taken the arguments, so they are sound."""
    yield from call.arguments.get("tools_requested") or ()
    for step in call.arguments.get("steps") or ():
        policy = step.get("tool_policy") if isinstance(step, dict) else None
        yield from (policy or {}).get("tools") or ()


def working_on(task: str, agent: str, event: ToolFinished) -> str:
    """The task after one more result; `task` is the one before, empty if there is none."""
    if event.tool not in GROUPS["tasks"]:
        return task
    for changed in task_states(event.text) if event.records is None else event.records:
        if changed.agent == agent and changed.status == "in_progress":
            return changed.id
        if changed.id == task:
            return ""
    return task
