"""Where a collaboration stands: everything that is recorded about it, and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.work_sessions.forming import permitted
from folkmoot.domain.decision import Decision
from folkmoot.domain.entry import Event
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
        return tuple(each.agent for each in self.team.members if permitted(self.work, each.agent, action))

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
