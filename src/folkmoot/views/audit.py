"""Whether everything that passed between agents in a run, and all that was done because of it, can be traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.plan import PlanCreated
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import SnapshotCreated


class Audit(Value, omit_defaults=False):
    actions: int
    """Tool calls of executors."""
    transfers: int
    snapshots: int
    orphans: tuple[str, ...]
    """What nothing leads to, in words; none in a sound run."""


def audit(drafts: Sequence[Draft]) -> Audit:
    handed = {draft.span for draft in drafts if _is_contract(draft)}
    calls = [draft for draft in drafts if isinstance(draft.event, ToolStarted)]
    actions = [draft for draft in calls if draft.span in handed or _plan_of(draft)]
    orphans = (
        *_without_plan(drafts, actions),
        *_without_transfer(actions, handed),
        *_without_snapshot(drafts),
        *_without_artifact(drafts),
    )
    return Audit(
        actions=len(actions),
        transfers=sum(isinstance(draft.event, HandoffRequested) for draft in drafts),
        snapshots=sum(isinstance(draft.event, SnapshotCreated) for draft in drafts),
        orphans=orphans,
    )


def _is_contract(draft: Draft) -> bool:
    return isinstance(draft.event, HandoffRequested) and draft.event.kind == "contract"


def _plan_of(draft: Draft) -> str:
    return draft.event.plan_id if isinstance(draft.event, ToolStarted) else ""


def _without_plan(drafts: Sequence[Draft], actions: Sequence[Draft]) -> Iterator[str]:
    plans = {draft.event.plan.id for draft in drafts if isinstance(draft.event, PlanCreated)}
    for draft in actions:
        if (plan := _plan_of(draft)) not in plans:
            yield f"{draft.span}: a tool was called for a plan that was never made: {plan or 'none is named'}"


def _without_transfer(actions: Sequence[Draft], handed: set[str]) -> Iterator[str]:
    for draft in actions:
        if draft.span not in handed:
            yield f"{draft.span}: a tool was called for a plan that was never passed over: {_plan_of(draft)}"


def _without_snapshot(drafts: Sequence[Draft]) -> Iterator[str]:
    taken = {
        id for draft in drafts if isinstance(draft.event, SnapshotCreated) for id in draft.event.artifact_ids
    }
    for draft in drafts:
        if isinstance(draft.event, HandoffRequested) and _is_contract(draft):
            for id in draft.event.artifact_ids:
                if id not in taken:
                    yield f"{draft.span}: no snapshot names what passed over: {id}"


def _without_artifact(drafts: Sequence[Draft]) -> Iterator[str]:
    for draft in drafts:
        if isinstance(draft.event, HandoffRequested) and not draft.event.artifact_ids:
            yield f"{draft.span}: what passed to {draft.event.receiver} was not kept"
