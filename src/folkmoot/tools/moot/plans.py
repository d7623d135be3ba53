"""The tools with which agents have a plan agreed on. Who submits or decides is the agent of the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from folkmoot.coordination.author import calling
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plans import life
from folkmoot.coordination.plans.brief import brief
from folkmoot.coordination.plans.desk import Plans
from folkmoot.coordination.plans.wish import PlanWish, StepWish
from folkmoot.domain.message import RecordState, ToolResult
from folkmoot.domain.plan import Plan
from folkmoot.ports import Site
from folkmoot.tools.functions import FunctionTool


class PlanTools:
    def __init__(self, moot: Callable[[], Moot]) -> None:
        self._moot = moot

    @property
    def _plans(self) -> Plans:
        return self._moot().plans

    async def _told(self, change: Awaitable[Plan]) -> ToolResult:
        plan = await change
        return ToolResult(
            brief(plan),
            sources=await self._plans.sources([plan.id]),
            records=(_state(plan),),
        )

    async def plan_submit(  # noqa: PLR0913  # because a model gives each as an argument
        self,
        site: Site,
        title: str,
        steps: tuple[StepWish | str, ...],
        goal: str = "",
        tools_requested: tuple[str, ...] = (),
        plan_id: str = "",
        task_id: str = "",
    ) -> ToolResult:
        """Submit a plan for approval, or, with `plan_id`, another version of one that was not approved.

        A step is a sentence, or an object with who owns it, when it is accepted and what it may do; before the plan
        can be carried out each needs an owner (an agent's id) and an acceptance. `tools_requested` are the tools
        beyond reading that you need, such as files.write. End your work then: a lead or a person decides, and
        plan_status tells what they said.
        """
        author = calling(site)
        wish = PlanWish(title, steps, goal, tools_requested, task_id)
        if plan_id:
            return await self._told(self._plans.revise(plan_id, author, wish, submitted=True))
        return await self._told(self._plans.draft(author, wish, submitted=True))

    async def plan_approve(
        self, site: Site, plan_id: str = "", text: str = "", commit: bool = False
    ) -> ToolResult:
        """Approve a submitted plan, if you are a lead; with `commit` it may be carried out at once.

        Without an id it is the one that waits here.
        """
        id = await self._plans.meant(plan_id, site.work_session)
        approved = self._plans.change(id, calling(site), life.approve, text, committed=commit)
        return await self._told(approved)

    async def plan_reject(self, site: Site, reason: str, plan_id: str = "") -> ToolResult:
        """Reject a submitted plan, if you are a lead. Its author reads the reason and may submit another version."""
        id = await self._plans.meant(plan_id, site.work_session)
        return await self._told(self._plans.change(id, calling(site), life.reject, reason))

    async def plan_status(self, site: Site, plan_id: str = "") -> ToolResult:
        """Where a plan stands: its decision and the reason, its steps and their owners. Without an id: all plans."""
        if plan_id:
            return await self._told(self._plans.get(plan_id))
        plans = await self._plans.all()
        lines = [f"{plan.id} ({plan.status}): {plan.title}" for plan in plans.values()]
        text = "\n".join(lines) or "there are no plans"
        own = tuple(_state(plan) for plan in plans.values() if plan.author == calling(site).name)
        return ToolResult(text, sources=await self._plans.sources(plans), records=own)


def _state(plan: Plan) -> RecordState:
    return RecordState(plan.id, plan.status, plan.author)


def plan_tools(moot: Callable[[], Moot]) -> dict[str, FunctionTool]:
    tools = PlanTools(moot)
    changing = (tools.plan_submit, tools.plan_approve, tools.plan_reject)
    return {
        **{function.__name__: FunctionTool(function, "keyed", "read") for function in changing},
        "plan_status": FunctionTool(tools.plan_status, "pure", "read"),
    }
