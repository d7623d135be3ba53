"""The plans of a project: `await moot.plans.change(id, author, steps.start, "s1")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from folkmoot.coordination.author import Author
from folkmoot.coordination.keeping import Keeper
from folkmoot.coordination.plans import life
from folkmoot.coordination.plans.actor import PlanActor, acting
from folkmoot.coordination.plans.life import Events
from folkmoot.coordination.plans.wish import PlanWish, planned
from folkmoot.domain.agent import Graph
from folkmoot.domain.plan import Plan, PlanCreated, PlanSubmitted
from folkmoot.domain.records import PLAN
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery

P = ParamSpec("P")


class Plans:
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.keeper = Keeper(PLAN, journal, clock)
        self._graph = graph
        self.get = self.keeper.get
        self.all = self.keeper.all

    async def meant(self, id: str, work_session: str) -> str:
        """The plan that is named; without a name, the one that waits for a decision in a work session."""
        if id:
            return id
        waiting = [*await self.keeper.select(RecordQuery(work_session=work_session, statuses=("submitted",)))]
        if len(waiting) != 1:
            raise WrongUse(f"name a plan; waiting here for a decision are {', '.join(waiting) or 'none'}")
        return waiting[0]

    async def draft(
        self, author: Author, wish: PlanWish, *, chance: str = "", submitted: bool = False
    ) -> Plan:
        """A new plan; `chance` is for authors that make no call. `submitted`: it waits for a decision at once."""
        id = author.new_id(PLAN.prefix, chance)
        plan = planned(wish, id, author.name, author.work_session, self._graph.tool_name)
        events: Events = [PlanCreated(plan), *([PlanSubmitted(plan.id)] if submitted else [])]
        return await self.keeper.change(
            plan.id, author, lambda there: () if there else events, plan.work_session
        )

    async def revise(self, id: str, author: Author, wish: PlanWish, *, submitted: bool = False) -> Plan:
        """Another draft of a plan that nobody agreed to yet."""
        before = await self.get(id)
        wanted = planned(wish, id, before.author, before.work_session, self._graph.tool_name)
        return await self.change(id, author, life.revise, wanted, submitted=submitted)

    async def change(
        self,
        id: str,
        author: Author,
        decide: Callable[Concatenate[Plan, PlanActor, P], Events],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Plan:
        """What `life` and `steps` decide, on the plan as it is when it is written. Raises `WrongUse` to refuse."""
        actor, work_session = acting(author, self._graph), (await self.get(id)).work_session

        def decided(plan: Plan | None) -> Events:
            assert plan is not None, "a plan is never removed"
            return decide(plan, actor, *args, **kwargs)

        return await self.keeper.change(id, author, decided, work_session)
