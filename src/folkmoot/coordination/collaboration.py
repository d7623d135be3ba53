"""Where a collaboration stands, what can come next in it, and what members are told. Pure: each move is one step, and
after a crash the next one is found anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import ClassVar

from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plan_service import details
from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.coordination.work_teams import refusal
from folkmoot.domain.decision import Decision
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.task import Task
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import Action, Roster, WorkSession, WorkSessionAnswered, WorkSessionAsked


class Asking(Value):
    """One member, asked once."""

    purpose: str
    agent: str
    run: str
    answer: WorkSessionAnswered | None = None
    """Absent as long as its run has not ended."""

    @property
    def succeeded(self) -> bool:
        return self.answer is not None and self.answer.success

    @property
    def text(self) -> str:
        return self.answer.text if self.answer else ""


class Scene(Value):
    work: WorkSession
    now: str
    askings: Mapping[str, Asking] = {}
    """By their purposes."""
    plan: Plan | None = None
    """The last one that was made for this work session."""
    tasks: Mapping[str, Task] = {}
    decisions: tuple[Decision, ...] = ()

    @property
    def team(self) -> Roster:
        return self.work.team or Roster(())

    @property
    def lead(self) -> str:
        return next(iter(self.team.in_role("lead")), "")

    @property
    def planner(self) -> str:
        return next(iter(self.team.in_role("planner")), self.lead)

    @property
    def reviewer(self) -> str:
        return next(iter(self.team.in_role("reviewer")), self.lead)

    def who_may(self, action: Action) -> tuple[str, ...]:
        return tuple(each.agent for each in self.team.members if not refusal(self.work, each.agent, action))

    def answered(self, purpose: str) -> Asking | None:
        """The asking, if its run has ended."""
        asking = self.askings.get(purpose)
        return asking if asking and asking.answer else None

    def about(self, step: PlanStep) -> tuple[Decision, ...]:
        """The decisions on what blocked a step."""
        plan = self.plan.id if self.plan else ""
        return tuple(each for each in self.decisions if (each.about.plan, each.about.step) == (plan, step.id))

    def attempt(self, step: PlanStep) -> int:
        """From 1: a step is tried again after each decision on it, and each time it is reopened."""
        decided = sum(each.status == "committed" for each in self.about(step))
        return 1 + decided + reopened(step)

    def document(self) -> dict[str, object]:
        """As programs read it."""
        work = self.work
        return {
            "goal": work.goal,
            "state": work.state,
            "summary": work.summary,
            "team": work.team,
            "plan": self.plan,
            "decisions": [each.id for each in self.decisions],
            "history": work.history,
        }


def reopened(step: PlanStep) -> int:
    return sum(review.verdict == "change" for review in step.reviews)


def name_of(prefix: str, plan: Plan, step: PlanStep, attempt: int) -> str:
    """Of the task or the decision that belongs to an attempt at a step."""
    return Author(RUNTIME).new_id(prefix, chance_of(plan, step, attempt))


def chance_of(plan: Plan, step: PlanStep, attempt: int) -> str:
    return f"{plan.id}/{step.id}/{attempt}"


def askings_of(events: Iterable[Event]) -> dict[str, Asking]:
    """A fold over the stream of a work session."""
    asked: dict[str, Asking] = {}
    for event in events:
        match event:
            case WorkSessionAsked(purpose=purpose, agent=agent, run=run):
                asked[purpose] = Asking(purpose, agent, run)
            case WorkSessionAnswered(purpose=purpose, run=run) if purpose in asked:
                asked[purpose] = Asking(purpose, asked[purpose].agent, run, event)
    return asked


_PURPOSES = {
    "plan": "{agent} plans",
    "review": "{agent} looks the plan over",
    "decide": "{agent} decides on the plan",
    "step": "{agent} works on step {of}",
    "accept": "{agent} is asked to take over step {of}",
    "vote": "{agent} votes on {of}",
    "tie-break": "{agent} decides {of}, because the votes do not",
    "check": "{agent} holds what was done against what was agreed",
    "summary": "{agent} sums up",
}
"""What people read of an `AskMove`, by the first part of its purpose."""


class AskMove(Value):
    """A member does its part, in a run of its own."""

    purpose: str
    agent: str
    blocks: tuple[Block, ...]
    """What it is told beside the goal."""
    errand: Errand = Errand()
    """What the run may do, where that is less than usual."""

    @property
    def line(self) -> str:
        kind, _, of = self.purpose.partition("/")
        return _PURPOSES[kind].format(agent=self.agent, of=of.partition("/")[0])


class RecordMove(Value):
    """The records change."""

    make: Callable[[Moot], Awaitable[object]]
    line: str = ""
    """For people; empty: nobody needs to see it."""


class CompleteMove(Value):
    """The goal is reached."""

    summary: str
    line: ClassVar[str] = ""


class WaitMove(Value):
    """Nothing comes next until a person does something."""

    why: str
    line: ClassVar[str] = ""


Move = AskMove | RecordMove | CompleteMove | WaitMove


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
