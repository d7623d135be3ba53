"""What somebody wants to have planned, as an agent, a person or a file says it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Literal

from msgspec import Meta

from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.gate import StepBudget, StepPolicy
from folkmoot.domain.plan import PLAN_STEPS, Plan, PlanStep
from folkmoot.domain.value import Value
from folkmoot.errors import BAD_VALUE, WrongUse


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
