"""The plans of a run: what each agent set out to do, and how far it came."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.plan import Plan
from folkmoot.domain.plan_events import PlanCreated
from folkmoot.domain.planning import carried_on
from folkmoot.domain.value import Value


class PlanView(Value, omit_defaults=False):
    agent_id: str
    call_path: str
    """The span of the agent whose plan it is."""
    strategy: str
    artifact: str
    """The plan as it was made."""
    status: str
    plan: Plan
    """As it stands."""


def plans(drafts: Iterable[Draft]) -> list[PlanView]:
    found: dict[str, PlanView] = {}
    for draft in drafts:
        event = draft.event
        if isinstance(event, PlanCreated):
            found[event.plan.id] = PlanView(
                draft.agent_id, draft.span, event.strategy, event.artifact, event.plan.status, event.plan
            )
        elif event.type.startswith(("plan.", "step.")):
            for id, view in found.items():
                plan = carried_on(view.plan, event)
                found[id] = replace(view, plan=plan, status=plan.status)
    return list(found.values())
