"""Operations on the steps of a plan, and all on plans together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Concatenate, ParamSpec

from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination.plans import Events
from folkmoot.coordination.plans import PlanActor as Role
from folkmoot.domain.plan import Plan, Verdict
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import OperationType, Spelling, Text
from folkmoot.operations.plans import WHOLE, ChangeOfPlan, PlanName, Reason, ReviewPlan, post
from folkmoot.operations.project import OpenProject

P = ParamSpec("P")
StepName = Annotated[str, Spelling(terminal="STEP")]


class ChangeOfStep(ChangeOfPlan):
    plan: PlanName
    step: StepName
    """Such as s1."""

    async def change_step(
        self,
        project: OpenProject,
        actor: Actor,
        decide: Callable[Concatenate[Plan, Role, str, P], Events],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Plan:
        id = await self.find_id(project, actor)

        def decided(plan: Plan, by: Role) -> Events:
            return decide(plan, by, self.step, *args, **kwargs)

        return await project.plans.change(id, actor.author(), decided)


class StartStep(ChangeOfStep):
    """Say that a step of a committed plan is under way."""

    command = "start"
    examples = ("folkmoot plans start last s1",)
    http = post("start", of_step=True)

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.start)


class CompleteStep(ChangeOfStep):
    """Say that a step is done; with the last one the plan is."""

    command = "complete"
    examples = (
        'folkmoot plans complete last s1 --note "See export.py."',
        'folkmoot plans complete last s2 --skip --note "Nobody needs it."',
    )
    http = post("complete", of_step=True)
    note: str = ""
    """What came of it."""
    skipped: Annotated[bool, Spelling(terminal="--skip")] = False
    """It will not be done."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.complete, self.note, skipped=self.skipped)


class BlockStep(ChangeOfStep):
    """Say that a step cannot go on, and why."""

    command = "block"
    examples = ('folkmoot plans block last s1 --reason "Which format?"',)
    http = post("block", of_step=True)
    reason: Reason
    decision: Annotated[str, Spelling(metavar="ID")] = ""
    """What must be decided first."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.block, self.reason, self.decision)


class ResumeStep(ChangeOfStep):
    """Say that what blocked a step is out of the way."""

    command = "resume"
    examples = ('folkmoot plans resume last s1 --reason "CSV."',)
    http = post("resume", of_step=True)
    reason: str = ""
    """Why; whoever it concerns reads it."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.resume, self.reason)


class ReassignStep(ChangeOfStep):
    """Give a step to another owner, with all that was done of it. The new owner accepts it before it goes on."""

    command = "reassign"
    examples = ('folkmoot plans reassign last s1 tester --reason "Knows the format."',)
    http = post("reassign", of_step=True)
    to: Annotated[Text, Spelling(terminal="OWNER")]
    """The id of the agent that shall own it."""
    reason: Reason

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.reassign, self.to, self.reason)


class AcceptStep(ChangeOfStep):
    """Take a step that was given to you, or to an agent in whose name you do so."""

    command = "accept"
    examples = ("folkmoot plans accept last s1",)
    http = post("accept", of_step=True)

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.accept)


class ReopenStep(ChangeOfStep):
    """Say that a step that is over is not; its owner goes on with it."""

    command = "reopen"
    examples = ('folkmoot plans reopen last s1 --reason "There are no tests."',)
    http = post("reopen", of_step=True)
    reason: Reason

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await self.change_step(project, actor, steps.reopen, self.reason)


class ReviewStep(ChangeOfStep):
    """Look over a step that is over. One that should change is reopened."""

    http = post("review", of_step=True)
    verdict: Verdict
    """What the review comes to."""
    text: str = ""
    """What should change."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        wanted = ReviewPlan(plan=self.plan, step=self.step, verdict=self.verdict, text=self.text)
        return await wanted.run(project, actor)


OPERATIONS: tuple[OperationType, ...] = (
    *WHOLE,
    StartStep,
    CompleteStep,
    BlockStep,
    ResumeStep,
    ReassignStep,
    AcceptStep,
    ReviewStep,
    ReopenStep,
)
