"""What may happen to a plan as a whole, and who may let it happen: draft, review, decision, commitment. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.record_store import PERSON, Author
from folkmoot.domain.agent import Graph
from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.entry import Event
from folkmoot.domain.gate import StepBudget, StepPolicy
from folkmoot.domain.plan import (
    PLAN_STEPS,
    Plan,
    PlanApproved,
    PlanCommitted,
    PlanProgress,
    PlanRejected,
    PlanReviewed,
    PlanRevised,
    PlanStatus,
    PlanStep,
    PlanSubmitted,
    Verdict,
)
from folkmoot.domain.value import Value
from folkmoot.errors import BAD_VALUE, NotFound, WrongUse


class PlanActor(Value):
    name: str
    role: str = ""
    """Of an agent, as its file says; empty for people and the runtime, who may do everything."""
    agents: frozenset[str] = frozenset()
    """All agents of the project, by their ids."""

    @property
    def leads(self) -> bool:
        return self.role in ("", "lead")

    def must_lead(self, deed: str) -> None:
        if not self.leads:
            raise WrongUse(f"only a lead or a person may {deed}; {self.name} is a {self.role}")

    def must_own(self, plan: Plan, step: PlanStep, deed: str) -> None:
        if self.role and self.name != step.owner:
            raise WrongUse(
                f"step {step.id} of {plan.id} belongs to {step.owner}; only they or a person may {deed} it"
            )

    def must_know(self, owner: str) -> None:
        if owner not in self.agents and owner != PERSON:
            known = ", ".join(sorted((*self.agents, PERSON)))
            raise NotFound(
                f"there is no agent {owner!r} who could own a step; there are {known}", code="agent_not_found"
            )


def acting(author: Author, graph: Graph) -> PlanActor:
    roles = {agent.id: agent.role for agent in graph.agents.values()}
    role = roles.get(author.name, "worker") if author.is_agent else ""
    return PlanActor(author.name, role, frozenset(roles))


class BudgetWish(Value, rename=None, forbid_unknown_fields=True):
    time: str = ""
    """Such as `10m`."""
    tokens: Annotated[int, Meta(gt=0)] | None = None
    files_changed: Annotated[int, Meta(ge=0)] | None = None


class PolicyWish(Value, rename=None, forbid_unknown_fields=True):
    tools: tuple[str, ...] | None = None
    """Only these; absent: all that the owner has and the plan requests."""
    approval: Literal["usual", "auto", "ask"] = "usual"
    budget: BudgetWish = BudgetWish()


class StepWish(Value, rename=None, forbid_unknown_fields=True):
    description: str
    owner: str = ""
    """The id of the agent that shall do it."""
    acceptance: str = ""
    """When it counts as done."""
    action_type: str = ""
    rationale: str = ""
    expected_outputs: tuple[str, ...] = ()
    stop_condition: str = ""
    tool_policy: PolicyWish = PolicyWish()


class PlanWish(Value, rename=None, forbid_unknown_fields=True):
    title: str
    steps: tuple[StepWish | str, ...]
    goal: str = ""
    tools_requested: tuple[str, ...] = ()
    """Which tools that do more than read its steps need; patterns such as `files.*` fit too."""
    task: str = ""
    work_session: str = ""


def planned(
    wish: PlanWish, id: str, author: str, work_session: str, named: Callable[[str], str] = str
) -> Plan:
    """A draft; `named` gives the name of a tool that is recorded. Raises `WrongUse` with all that is wrong with it."""
    if problems := list(_problems(wish)):
        raise WrongUse("the plan cannot be kept: " + "; ".join(problems), code=BAD_VALUE)
    return Plan(
        id=id,
        author=author,
        goal=wish.goal or wish.title,
        steps=tuple(_step(step, number, named) for number, step in enumerate(wish.steps, start=1)),
        title=wish.title,
        work_session=wish.work_session or work_session,
        tools_requested=tuple(map(named, wish.tools_requested)),
        task=wish.task,
    )


def _problems(wish: PlanWish) -> Iterator[str]:
    if not wish.title.strip():
        yield "it has no title"
    if not 0 < len(wish.steps) <= PLAN_STEPS:
        yield f"it has {len(wish.steps)} steps, and a plan has 1 to {PLAN_STEPS}"
    for number, step in enumerate(map(_whole, wish.steps), start=1):
        if not step.description.strip():
            yield f"step {number} has no description"
        time = step.tool_policy.budget.time
        if time and not seconds(time):
            yield f"step {number} has the time {time!r}; write it as {EXAMPLES}"


def _whole(step: StepWish | str) -> StepWish:
    return StepWish(step) if isinstance(step, str) else step


def _step(given: StepWish | str, number: int, named: Callable[[str], str]) -> PlanStep:
    wish = _whole(given)
    return PlanStep(
        action_type=wish.action_type,
        rationale=wish.rationale,
        expected_outputs=wish.expected_outputs,
        stop_condition=wish.stop_condition,
        description=wish.description,
        owner=wish.owner,
        acceptance=wish.acceptance,
        tool_policy=_policy(wish.tool_policy, named),
        id=f"s{number}",
        order=number,
    )


def _policy(wish: PolicyWish, named: Callable[[str], str]) -> StepPolicy:
    wanted = wish.budget
    time = seconds(wanted.time) if wanted.time else None
    tools = None if wish.tools is None else tuple(map(named, wish.tools))
    return StepPolicy(tools, wish.approval, StepBudget(time, wanted.tokens, wanted.files_changed))


Events = Sequence[Event]
_REMEDIES: dict[PlanStatus, str] = {
    "draft": "it must be submitted first",
    "submitted": "it waits for a decision",
    "approved": "it is decided",
    "rejected": "its author may revise and submit it again",
    "committed": "it is being carried out",
    "done": "it is over",
}


def revise(plan: Plan, by: PlanActor, wanted: Plan, *, submitted: bool = False) -> Events:
    """Change a plan as long as nobody agreed to it; `submitted`: and have it decided at once."""
    must_be(plan, "revised", "draft", "submitted", "rejected")
    _must_be_author(plan, by)
    revised = replace(wanted, id=plan.id, author=plan.author)
    return [PlanRevised(revised), *([PlanSubmitted(plan.id)] if submitted else [])]


def review(plan: Plan, by: PlanActor, verdict: Verdict, text: str = "") -> Events:
    must_be(plan, "reviewed", "draft", "submitted")
    if by.name == plan.author:
        raise WrongUse(f"{by.name} made {plan.id}; somebody else must review it")
    if verdict == "change" and not text.strip():
        raise WrongUse("say in the review what should change", code=BAD_VALUE)
    return [PlanReviewed(plan.id, verdict, text)]


def submit(plan: Plan, by: PlanActor) -> Events:
    must_be(plan, "submitted", "draft", "rejected")
    _must_be_author(plan, by)
    return [PlanSubmitted(plan.id)]


def approve(plan: Plan, by: PlanActor, text: str = "", *, committed: bool = False) -> Events:
    """`committed`: and let it be carried out at once."""
    by.must_lead("approve a plan")
    must_be(plan, "approved", "submitted")
    commitment = commit(replace(plan, status="approved"), by) if committed else ()
    return [PlanApproved(plan.id, text), *commitment]


def reject(plan: Plan, by: PlanActor, reason: str) -> Events:
    by.must_lead("reject a plan")
    must_be(plan, "rejected", "submitted")
    if not reason.strip():
        raise WrongUse("a rejection needs a reason: its author reads it", code=BAD_VALUE)
    return [PlanRejected((reason,), plan.id)]


def commit(plan: Plan, by: PlanActor) -> Events:
    """From here on it is carried out, so each step must have an owner, and say when it counts as done."""
    by.must_lead("commit a plan")
    must_be(plan, "committed", "approved")
    if missing := lacking(plan):
        raise WrongUse(f"{plan.id} cannot be committed: {'; '.join(missing)}")
    for step in plan.steps:
        by.must_know(step.owner)
    return [PlanCommitted(plan.id), PlanProgress(plan.id, plan.percent)]


def lacking(plan: Plan) -> list[str]:
    """What keeps a plan from being carried out."""
    return [
        f"step {step.id} has no {' and no '.join(missing)}"
        for step in plan.steps
        if (missing := [field for field in ("owner", "acceptance") if not getattr(step, field).strip()])
    ]


def must_be(plan: Plan, deed: str, *states: PlanStatus) -> None:
    if plan.status not in states:
        wanted = " or ".join(states)
        remedy = _REMEDIES[plan.status]
        raise WrongUse(f"{plan.id} is {plan.status}: {remedy}; only a plan that is {wanted} can be {deed}")


def _must_be_author(plan: Plan, by: PlanActor) -> None:
    if by.role and by.name != plan.author:
        raise WrongUse(f"{plan.id} is {plan.author}'s; {by.name} may review it, or make another")
