"""Operations on plans as a whole: what agents and people set out to do together, and how it is agreed on."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination import plans as life
from folkmoot.coordination.plan_service import brief
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.domain.agent import find_agent
from folkmoot.domain.message import RecordState, ToolResult
from folkmoot.domain.plan import Plan, PlanStatus, Verdict
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import (
    AgentTool,
    Http,
    Operation,
    OperationType,
    Spelling,
    Text,
    WorkSessionId,
)
from folkmoot.operations.project import OpenProject
from folkmoot.ports import RecordQuery
from folkmoot.views.plans import document

_LISTED = "As `list` shows it, its beginning, or `last`."
PlanName = Annotated[str, Spelling(terminal="ID", http=False, help=_LISTED)]
PlanOrWaiting = Annotated[
    str, Spelling(terminal="ID", http=False, tool="plan_id", tool_default="", help=_LISTED)
]
Reason = Annotated[Text, Spelling(help="Why; whoever it concerns reads it.")]
FROM_FILE = Spelling(terminal=None)
"""The terminal reads it from a file."""
_OF_PLAN = "$response.body#/id"
_OF_STEP = {"id": _OF_PLAN, "step": "$response.body#/steps/0/id"}


def post(verb: str, *, of_step: bool = False) -> Http:
    then = (
        ("startStep", "completeStep", "reviewStep") if of_step else ("showPlan", "approvePlan", "commitPlan")
    )
    links = {name: _OF_STEP if of_step else _OF_PLAN for name in then}
    place = f"steps/{{step}}/{verb}" if of_step else verb
    return Http(method="POST", path=f"/plans/{{id}}/{place}", problems=(409,), links=links)


class PlanOperation(Operation[Plan]):
    """What comes to one plan."""

    named: ClassVar[str | None] = ""

    def document(self, output: Plan) -> dict[str, Any]:
        return document(output)

    async def result(self, output: Plan, project: OpenProject, actor: Actor) -> ToolResult:
        sources = await project.plans.sources([output.id])
        return ToolResult(brief(output), sources=sources, records=(_state(output),))


class ChangeOfPlan(PlanOperation):
    """Of a plan that is named; an agent may mean the one that waits in its work session."""

    subject = "plan"

    async def find_id(self, project: OpenProject, actor: Actor) -> str:
        name: str = getattr(self, "plan", "")
        if not name and actor.kind == "agent":
            return await project.plans.meant(actor.call.work_session)
        return await project.plans.find(name)


class ListPlans(Operation[list[Plan]]):
    """List plans, the oldest first."""

    command = "list"
    examples = ("folkmoot plans list", "folkmoot plans list --status submitted --json")
    http = Http(
        method="GET",
        path="/plans",
        links=dict.fromkeys(("showPlan", "submitPlan", "approvePlan"), "$response.body#/0/id"),
    )
    reads = True
    status: PlanStatus | None = None
    """Only those that are so, such as `submitted`."""
    work_session: Annotated[str, Spelling(metavar="ID")] = ""
    """Only those of this one."""

    async def run(self, project: OpenProject, actor: Actor) -> list[Plan]:
        statuses = (self.status,) if self.status else None
        query = RecordQuery(statuses=statuses, work_session=self.work_session)
        return [*(await project.plans.select(query)).values()]

    def document(self, output: list[Plan]) -> list[dict[str, Any]]:
        return [document(plan) for plan in output]


class ListAgentPlans(Operation[list[Plan]]):
    """The plans that an agent made, or has a step of."""

    http = Http(method="GET", path="/agents/{id}/plans", name="agentPlans")
    subject = "agent"
    reads = True
    agent: str

    async def run(self, project: OpenProject, actor: Actor) -> list[Plan]:
        agent, plans = find_agent(project.graph, self.agent).id, (await project.plans.all()).values()
        return [plan for plan in plans if agent in (plan.author, *(step.owner for step in plan.steps))]

    def document(self, output: list[Plan]) -> list[dict[str, Any]]:
        return [document(plan) for plan in output]


class ShowPlan(PlanOperation):
    """Show one plan: its steps, their owners, and how it stands."""

    command = "show"
    examples = ("folkmoot plans show last", "folkmoot plans show last --live")
    http = Http(method="GET", path="/plans/{id}")
    subject = "plan"
    named = None
    reads = True
    plan: PlanName

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await project.plans.get(await project.plans.find(self.plan))


class PlanInput(PlanOperation, rename=None):
    """A plan as a file has it."""

    title: Annotated[str, FROM_FILE]
    """What it is about."""
    steps: Annotated[tuple[StepWish | str, ...], FROM_FILE]
    """A sentence each, or who owns it, when it is accepted and what it may do."""
    goal: Annotated[str, FROM_FILE] = ""
    tools_requested: Annotated[tuple[str, ...], FROM_FILE] = ()
    """Which tools that do more than read its steps need; patterns such as `files.*` fit too."""
    task: Annotated[str, FROM_FILE] = ""
    work_session: Annotated[WorkSessionId, FROM_FILE] = ""
    submitted: Annotated[bool, FROM_FILE] = False
    """It waits for a decision at once."""

    @property
    def wish(self) -> PlanWish:
        return PlanWish(self.title, self.steps, self.goal, self.tools_requested, self.task, self.work_session)


class DraftPlan(PlanInput):
    """Draft a plan."""

    command = "draft"
    examples = (
        "folkmoot plans draft --file plan.yaml",
        'folkmoot plans draft "Add export" --step "Write it" --step "Test it"',
    )
    http = Http(
        method="POST",
        path="/plans",
        links=dict.fromkeys(("showPlan", "submitPlan", "revisePlan", "reviewPlan"), _OF_PLAN),
    )
    creates = True

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        wish = self.wish
        return await project.plans.draft(actor.author(), wish, chance=actor.id_seed, submitted=self.submitted)

    def repeats(self, output: Plan) -> bool:
        return output.title == self.title


class RevisePlan(PlanInput, ChangeOfPlan, kw_only=True):
    """Put another version in the place of a plan that nobody approved yet. It is a draft again."""

    command = "revise"
    examples = ("folkmoot plans revise last --file plan.yaml",)
    http = post("revise")
    plan: PlanName

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        id = await self.find_id(project, actor)
        return await project.plans.revise(id, actor.author(), self.wish, submitted=self.submitted)


class SubmitPlan(ChangeOfPlan):
    """Have a plan decided."""

    command = "submit"
    examples = ("folkmoot plans submit last",)
    http = post("submit")
    plan: PlanName

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await project.plans.change(await self.find_id(project, actor), actor.author(), life.submit)


class ApprovePlan(ChangeOfPlan):
    """Approve a submitted plan: its agents may use the tools that it requests."""

    command = "approve"
    examples = ("folkmoot plans approve last", "folkmoot plans approve last --commit")
    http = post("approve")
    tool = AgentTool(
        "plan_approve",
        "Approve a submitted plan, if you are a lead; with `commit` it may be carried out at once.\n\n"
        "Without an id it is the one that waits here.",
    )
    plan: PlanOrWaiting
    text: Annotated[str, FROM_FILE] = ""
    """Kept with the approval."""
    commit: bool = False
    """And let it be carried out at once."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        id = await self.find_id(project, actor)
        return await project.plans.change(id, actor.author(), life.approve, self.text, committed=self.commit)


class RejectPlan(ChangeOfPlan):
    """Reject a submitted plan; its author reads the reason."""

    command = "reject"
    examples = ('folkmoot plans reject last --reason "Say which format."',)
    http = post("reject")
    tool = AgentTool(
        "plan_reject",
        "Reject a submitted plan, if you are a lead. Its author reads the reason and may submit another version.",
    )
    reason: Reason
    plan: PlanOrWaiting

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        id = await self.find_id(project, actor)
        return await project.plans.change(id, actor.author(), life.reject, self.reason)


class CommitPlan(ChangeOfPlan):
    """Let an approved plan be carried out. Each step must have an owner and an acceptance."""

    command = "commit"
    examples = ("folkmoot plans commit last",)
    http = post("commit")
    plan: PlanName

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        return await project.plans.change(await self.find_id(project, actor), actor.author(), life.commit)


class ReviewPlan(ChangeOfPlan):
    """Look over a plan that is not decided, or a step that is over. A step that should change is reopened."""

    command = "review"
    examples = (
        'folkmoot plans review last change --text "Say which format."',
        "folkmoot plans review last accept --step s1",
    )
    http = post("review")
    plan: PlanName
    verdict: Annotated[Verdict, Spelling(terminal="accept|change")]
    """What the review comes to."""
    step: Annotated[str, Spelling(metavar="STEP", http=False)] = ""
    """One that is over; absent: the whole plan."""
    text: str = ""
    """What should change."""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        id, by, change = await self.find_id(project, actor), actor.author(), project.plans.change
        if self.step:
            return await change(id, by, steps.review, self.step, self.verdict, self.text)
        return await change(id, by, life.review, self.verdict, self.text)


class SubmitOwnPlan(PlanOperation):
    """A plan that an agent submits, or another version of one."""

    tool = AgentTool(
        "plan_submit",
        "Submit a plan for approval, or, with `plan_id`, another version of one that was not approved.\n\n"
        "A step is a sentence, or an object with who owns it, when it is accepted and what it may do; before the plan\n"
        "can be carried out each needs an owner (an agent's id) and an acceptance. `tools_requested` are the tools\n"
        "beyond reading that you need, such as files.write. End your work then: a lead or a person decides, and\n"
        "plan_status tells what they said.",
    )
    title: str
    steps: tuple[StepWish | str, ...]
    goal: str = ""
    tools_requested: tuple[str, ...] = ()
    plan: Annotated[str, Spelling(tool="plan_id")] = ""
    task: Annotated[str, Spelling(tool="task_id")] = ""

    async def run(self, project: OpenProject, actor: Actor) -> Plan:
        wish = PlanWish(self.title, self.steps, self.goal, self.tools_requested, self.task)
        if not self.plan:
            return await project.plans.draft(actor.author(), wish, submitted=True)
        id = await project.plans.find(self.plan)
        return await project.plans.revise(id, actor.author(), wish, submitted=True)


class ReviewOwnPlans(Operation[list[Plan]]):
    """One plan, or how all of them stand."""

    tool = AgentTool(
        "plan_status",
        "Where a plan stands: its decision and the reason, its steps and their owners. Without an id: all plans.",
    )
    reads = True
    plan: Annotated[str, Spelling(tool="plan_id")] = ""

    async def run(self, project: OpenProject, actor: Actor) -> list[Plan]:
        if self.plan:
            return [await project.plans.get(await project.plans.find(self.plan))]
        return list((await project.plans.all()).values())

    async def result(self, output: list[Plan], project: OpenProject, actor: Actor) -> ToolResult:
        if self.plan:
            return await ShowPlan(plan=self.plan).result(output[0], project, actor)
        lines = [f"{plan.id} ({plan.status}): {plan.title}" for plan in output]
        own = tuple(_state(plan) for plan in output if plan.author == actor.id)
        sources = await project.plans.sources([plan.id for plan in output])
        return ToolResult("\n".join(lines) or "there are no plans", sources=sources, records=own)


def _state(plan: Plan) -> RecordState:
    return RecordState(plan.id, plan.status, plan.author)


WHOLE: tuple[OperationType, ...] = (
    ListPlans,
    ListAgentPlans,
    ShowPlan,
    DraftPlan,
    RevisePlan,
    SubmitPlan,
    ApprovePlan,
    RejectPlan,
    CommitPlan,
    ReviewPlan,
    SubmitOwnPlan,
    ReviewOwnPlans,
)
