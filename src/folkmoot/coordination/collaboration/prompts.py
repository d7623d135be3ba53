"""What members are told, in blocks behind the goal; what others said keeps their name. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from folkmoot.coordination.collaboration.scene import Scene
from folkmoot.coordination.plans.errand import details
from folkmoot.domain.decision import Decision
from folkmoot.domain.errand import Block
from folkmoot.domain.plan import Plan, PlanStep

PLAN = """\
You plan for a team. Submit a plan for the goal with the tool plan_submit: for each step a description, its owner (the
id of a member), and an acceptance that another can check. List under tools_requested every tool that does more than
read. The members:
{members}"""
REVISE = """\
Revise plan {plan} and submit it again with plan_submit and its plan_id. What was said against it: {reason}"""
REVIEW_PLAN = """\
Look the plan over from your side: is it complete, are the owners right, can each acceptance be checked? Begin your
report with `accept`, or with `change:` and what should change."""
DECIDE_PLAN = """\
You lead. Decide on plan {plan} with the tool plan_approve or, with a reason that its author can work with,
plan_reject."""
STEP = """\
Carry out step {step.id} of the plan: {step.description}
It counts as done when: {step.acceptance}
Report what you did and how that shows. If you cannot go on, block your task {task} with the tool task_block: say what
blocks you, who could help, and what you suggest."""
ACCEPT = """\
Step {step.id} of the plan passes from {step.handed_by} on to you: {step.description}
It counts as done when: {step.acceptance}
Begin your report with `accept`, or with `decline:` and why."""
VOTE = """\
Step {step} of the plan is blocked, and the team decides how to go on. Vote on {decision.id} with the tool
decision_vote. The options:
{options}"""
TIE_BREAK = """\
You lead, and the votes on {decision.id} do not decide ({why}). Decide it with the tool decision_commit: name an option
and your rationale. The options:
{options}"""
REVIEW_STEPS = """\
Hold what came of each step against its acceptance. Report one line for each of {steps}: `s1: accept`, or
`s1: reopen` followed by what is missing."""
SUMMARY = """\
The work is done and reviewed. Report to whoever set the goal, in a few sentences: what was reached, what was decided on
the way, and what is left open."""


def task(text: str) -> Block:
    return Block("task", text)


def plan_block(plan: Plan) -> Block:
    lines = [f"{plan.id}: {plan.title}", *([f"goal: {plan.goal}"] if plan.goal != plan.title else ())]
    if plan.requested:
        lines.append(f"tools that do more than read: {', '.join(plan.requested)}")
    lines += map(_line, plan.steps)
    return Block("plan", "\n".join(lines), agent=plan.author)


def results(plan: Plan, before: PlanStep | None = None) -> Iterable[Block]:
    """What came of the steps so far."""
    for step in plan.steps:
        if step.note and (before is None or step.order < before.order):
            yield Block("result", f"{step.id}: {step.note}", agent=step.owner)


def reviews(plan: Plan) -> Iterable[Block]:
    for review in plan.reviews:
        yield Block("review", f"{review.verdict}: {review.text}".rstrip(": "), agent=review.by)


def objections(step: PlanStep) -> Iterable[Block]:
    """Why a step was reopened."""
    for review in step.reviews:
        if review.verdict == "change":
            yield Block("review", review.text, agent=review.by)


def decided(decisions: Iterable[Decision]) -> Iterable[Block]:
    for each in decisions:
        if each.status == "committed":
            text = next((option.text for option in each.options if option.id == each.committed_option), "")
            rationale = f"\nBecause: {each.rationale}" if each.rationale else ""
            yield Block("decision", f"{each.topic}\nDecided: {text or each.committed_option}{rationale}")


def reason(step: PlanStep, decisions: Iterable[Decision]) -> Iterable[Block]:
    """Why a step was passed on or resumed, unless a decision that is shown says so."""
    if step.reason and step.reason not in map(because, decisions):
        yield Block("reason", step.reason)


def because(decision: Decision) -> str:
    """Why a step is done as was decided."""
    return decision.rationale or f"decided by {decision.how}"


def votes(decision: Decision) -> Iterable[Block]:
    """What was said for each option, for whoever breaks the tie."""
    for vote in decision.standing_votes.values():
        yield Block("vote", f"{vote.option}: {vote.reason}".rstrip(": "), agent=vote.voter)


def options(decision: Decision) -> str:
    return "\n".join(f"- {option.id}: {option.text}" for option in decision.options)


def members(scene: Scene) -> str:
    return "\n".join(
        f"- {member.agent} ({', '.join((member.role, *member.capabilities))})"
        for member in scene.team.members
    )


def _line(step: PlanStep) -> str:
    state = "" if step.status == "pending" else f" [{step.status}]"
    said = f"{step.id} ({step.owner or 'no owner'}){state}: {step.description} | done when: {step.acceptance or '?'}"
    return " | ".join((said, *details(step)))
