"""Who acts on a plan, and what they may do to it. Pure."""

from __future__ import annotations

from folkmoot.coordination.author import PERSON, Author
from folkmoot.domain.agent import Graph
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound, WrongUse


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
