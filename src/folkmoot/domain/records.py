"""Records that outlive runs: how each kind is folded from its events. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.structs import asdict, replace

from folkmoot.domain import decision as decisions
from folkmoot.domain import plan as plans
from folkmoot.domain import task as tasks
from folkmoot.domain import work_session as works
from folkmoot.domain.decision import Decision
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.naming import Reference
from folkmoot.domain.plan import Plan
from folkmoot.domain.sources import Sources
from folkmoot.domain.task import Interrupted, Task
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
from folkmoot.errors import JournalDamaged

R = TypeVar("R")
V = TypeVar("V", bound=Value)
Change = Callable[[Any, Any, Draft], dict[str, Any]]
"""The fields of a record that an event changes."""


class RecordSources(Event):
    """Whoever changed the record before this had read something: what the record says may be based on it."""

    type = "record.sources"
    sources: Sources


class MemoryNoted(Event):
    """An agent noted something for later runs."""

    type = "memory.noted"
    text: str


@dataclass(frozen=True)
class Kind(Reference, Generic[R]):
    """A kind of record."""

    evolve: Callable[[R | None, Draft], R]
    """The record after one more event; before the first there is none."""


def _fold(
    name: str, begin: Callable[[Draft], V | None], changes: Mapping[type[Event], Change]
) -> Callable[[V | None, Draft], V]:
    """`begin` gives the record that an event begins, if it can; then `changes` says what each event does."""

    def evolve(record: V | None, draft: Draft) -> V:
        if record is None and (record := begin(draft)) is None:
            raise JournalDamaged(f"a {name} cannot begin with a {draft.event.type} event")
        change = changes.get(type(draft.event))
        return replace(record, **change(record, draft.event, draft)) if change else record

    return evolve


def _set(
    *copied: str, at: str = "", by: str = "", renamed: Mapping[str, str] | None = None, **fixed: Any
) -> Change:
    """Take these fields over from the event, also under another name, and set others; `at` and `by` are the fields for
    when it happened and who did it."""
    sources = {name: name for name in copied} | dict(renamed or {})

    def change(record: Any, event: Any, draft: Draft) -> dict[str, Any]:
        changes = fixed | {name: getattr(event, source) for name, source in sources.items()}
        return changes | ({at: draft.ts} if at else {}) | ({by: draft.agent_id} if by else {})

    return change


def _begin_task(draft: Draft) -> Task | None:
    event = draft.event
    return event.task if isinstance(event, tasks.TaskStarted | tasks.TaskBacklogAdded) else None


_end_task = _set("status", "outcome", at="ended_at", blocking=None)


def _complete_task(task: Task, event: tasks.TaskCompleted, draft: Draft) -> dict[str, Any]:
    note = f"completed by force, left open: {', '.join(event.left_open)}" if event.left_open else ""
    return {"progress": _noted(task, note)} | _end_task(task, event, draft)


def _update_task(task: Task, event: tasks.TaskUpdated, draft: Draft) -> dict[str, Any]:
    steps = task.steps if event.steps is None else event.steps
    return {"steps": steps, "progress": _noted(task, event.progress)}


def _pick_task(
    task: Task, event: tasks.TaskBacklogPicked | tasks.BacklogAutoPicked, draft: Draft
) -> dict[str, Any]:
    picked: dict[str, Any] = {"status": event.status, "steps": event.steps}
    if event.work_session not in ("", task.work_session_id):
        picked |= {"work_session_id": event.work_session, "previous_work_session_id": task.work_session_id}
    return picked


def _abandon_task(task: Task, event: tasks.ZombieAbandoned, draft: Draft) -> dict[str, Any]:
    given_up: dict[str, Any] = {"status": event.status, "blocking": None}
    if event.status == "backlog":
        back = replace(task.backlog, reassign_count=task.backlog.reassign_count + 1)
        return given_up | {"backlog": back}
    outcome = Interrupted(event.reason or f"no activity since {event.last_activity}")
    return given_up | {"outcome": outcome, "ended_at": draft.ts}


def _request_unblock(task: Task, event: tasks.UnblockRequested, draft: Draft) -> dict[str, Any]:
    state = "escalated" if event.escalated else "requesting"
    asked = {"unblock_request_count": event.attempt, "last_unblocker_index": event.index}
    return _blocking(task, **asked, last_unblock_request_at=draft.ts, escalation_state=state)


def _fail_unblock(task: Task, event: tasks.UnblockFailed, draft: Draft) -> dict[str, Any]:
    final = {"escalation_state": "failed"} if event.final else {}
    return _blocking(task, unblock_request_failures=event.failures, **final)


def _blocking(task: Task, **changes: Any) -> dict[str, Any]:
    """Nothing if it was resumed in between."""
    return {"blocking": replace(task.blocking, **changes)} if task.blocking else {}


def _noted(task: Task, note: str) -> tuple[str, ...]:
    return (*task.progress, note) if note else task.progress


def _touching(change: Change) -> Change:
    """Of what its agent, or a person, did about a task, or the watch when it gave the task to its agent."""
    return lambda task, event, draft: {"last_activity": draft.ts} | change(task, event, draft)


_HANDLED: dict[type[Event], Change] = {
    tasks.TaskUpdated: _update_task,
    tasks.TaskCompleted: _complete_task,
    tasks.TaskCancelled: _end_task,
    tasks.TaskFailed: _end_task,
    tasks.TaskApproved: _set("status", "steps"),
    tasks.TaskBlocked: _set("status", "blocking"),
    tasks.TaskResumed: _set("status", blocking=None),
    tasks.TaskBacklogPicked: _pick_task,
    tasks.BacklogAutoPicked: _pick_task,
}
_TASK: dict[type[Event], Change] = {
    **{type: _touching(change) for type, change in _HANDLED.items()},
    tasks.ContinuationSent: _set(at="last_continuation_at"),
    tasks.ResumeReminderSent: _set(at="last_reminder_at"),
    tasks.UnblockRequested: _request_unblock,
    tasks.UnblockFailed: _fail_unblock,
    tasks.ZombieAbandoned: _abandon_task,
}
TASK: Kind[Task] = Kind("task", "task_", "folkmoot tasks list --all", _fold("task", _begin_task, _TASK))


def _of_step(change: Change) -> Change:
    """A change of the step that the event names."""

    def steps(plan: Plan, event: Any, draft: Draft) -> dict[str, Any]:
        changed = (
            replace(step, **change(step, event, draft)) if step.id == event.step else step
            for step in plan.steps
        )
        return {"steps": tuple(changed)}

    return steps


def _complete_step(step: plans.PlanStep, event: plans.StepCompleted, draft: Draft) -> dict[str, Any]:
    status = "done" if event.success else "skipped"
    over = {"begun_by": "", "was_handed": False, "reason": ""}
    return {"status": status, "note": event.note or step.note} | over


def _add_review(record: Plan | plans.PlanStep, event: Any, draft: Draft) -> dict[str, Any]:
    review = plans.Review(draft.agent_id, event.verdict, event.text, draft.ts, draft.span)
    return {"reviews": (*record.reviews, review)}


_REASSIGNED = {"owner": "receiver", "handed_by": "sender"}
_CARRIED: dict[type[Event], Change] = {
    plans.PlanCommitted: _set(status="committed"),
    plans.PlanUpdated: _set("steps"),
    plans.PlanCompleted: lambda plan, event, _: {"status": "done"} if event.success else {},
    plans.StepStarted: _of_step(_set(status="in_progress", renamed={"begun_by": "owner"})),
    plans.StepBlocked: _of_step(_set("decision", renamed={"blocked": "reason"})),
    plans.StepResumed: _of_step(_set("reason", blocked="", decision="")),
    plans.StepReassigned: _of_step(_set("reason", renamed=_REASSIGNED, was_handed=True, begun_by="")),
    plans.StepAccepted: _of_step(_set(handed_by="")),
    plans.StepCompleted: _of_step(_complete_step),
    plans.StepReopened: _of_step(_set(status="in_progress")),
}
"""What happens while a plan is carried out, in a run or over several."""
_NOWHERE = Draft("", Event())


def carried_on(plan: Plan, event: Event) -> Plan:
    """The plan after an event of whoever carries it out; one that concerns another plan changes nothing."""
    change = _CARRIED.get(type(event)) if getattr(event, "plan", "") == plan.id else None
    return replace(plan, **change(plan, event, _NOWHERE)) if change else plan


def _begin_plan(draft: Draft) -> Plan | None:
    event = draft.event
    return replace(event.plan, created_at=draft.ts) if isinstance(event, plans.PlanCreated) else None


def _revise_plan(plan: Plan, event: plans.PlanRevised, draft: Draft) -> dict[str, Any]:
    return asdict(event.plan) | {"created_at": plan.created_at, "reviews": plan.reviews}


def _reject_plan(plan: Plan, event: plans.PlanRejected, draft: Draft) -> dict[str, Any]:
    decided = {"status": "rejected", "decided_by": draft.agent_id, "decided_at": draft.ts}
    return decided | {"reject_reason": event.problems[0]} if event.problems else {}


_PLAN: dict[type[Event], Change] = {
    plans.PlanRevised: _revise_plan,
    plans.PlanReviewed: _add_review,
    plans.PlanSubmitted: _set(
        at="submitted_at", status="submitted", decided_by="", decided_at="", reject_reason=""
    ),
    plans.PlanApproved: _set(at="decided_at", by="decided_by", status="approved"),
    plans.PlanRejected: _reject_plan,
    plans.StepReviewed: _of_step(_add_review),
    **_CARRIED,
}
PLAN: Kind[Plan] = Kind("plan", "plan_", "folkmoot plans list", _fold("plan", _begin_plan, _PLAN))


def _begin_decision(draft: Draft) -> Decision | None:
    event = draft.event
    if not isinstance(event, decisions.DecisionProposed):
        return None
    return Decision(**asdict(event.proposal), id=event.id, proposed_by=draft.agent_id, proposed_at=draft.ts)


def _add_comment(decision: Decision, event: decisions.DecisionDeliberated, draft: Draft) -> dict[str, Any]:
    comment = decisions.Comment(draft.agent_id, event.text, draft.ts, event.references)
    status = "deliberating" if decision.status == "proposed" else decision.status
    return {"status": status, "comments": (*decision.comments, comment)}


def _add_vote(decision: Decision, event: decisions.DecisionVoted, draft: Draft) -> dict[str, Any]:
    vote = decisions.Vote(event.voter, event.option, draft.ts, event.reason)
    return {"votes": (*decision.votes, vote)}


_DECISION: dict[type[Event], Change] = {
    decisions.DecisionDeliberated: _add_comment,
    decisions.DecisionVotingOpened: _set(at="voting_since", status="voting"),
    decisions.DecisionVoted: _add_vote,
    decisions.DecisionEscalated: _set(
        at="escalated_at", status="escalated", renamed={"escalated_because": "reason"}
    ),
    decisions.DecisionCommitted: _set(
        *("how", "tie_break_by", "rationale"),
        at="committed_at",
        by="committed_by",
        status="committed",
        renamed={"committed_option": "option"},
    ),
}
DECISION: Kind[Decision] = Kind(
    "decision", "decision_", "folkmoot decisions list", _fold("decision", _begin_decision, _DECISION)
)


def _begin_work(draft: Draft) -> WorkSession:
    """Any event may be the first: also one that began with a plain run is named, categorised or paused."""
    at, by = draft.ts, draft.agent_id
    began = works.StateChange("Initialized", at, by)
    return WorkSession(draft.work_session_id, history=(began,), created_at=at, created_by=by)


def _become(record: WorkSession, draft: Draft, state: works.WorkState, reason: str = "") -> dict[str, Any]:
    change = works.StateChange(state, draft.ts, draft.agent_id, reason)
    return {"state": state, "history": (*record.history, change)}


def _form_team(record: WorkSession, event: works.WorkSessionTeamFormed, draft: Draft) -> dict[str, Any]:
    formed = _become(record, draft, "TeamFormed") if record.state == "Initialized" else {}
    return {"team": event.team} | formed


def _complete_work(record: WorkSession, event: works.WorkSessionCompleted, draft: Draft) -> dict[str, Any]:
    return asdict(event) | _become(record, draft, "Completed")


def _add_artifact(record: WorkSession, event: works.WorkSessionArtifactAdded, draft: Draft) -> dict[str, Any]:
    added = works.WorkArtifact(event.artifact, event.kind, event.title, draft.agent_id)
    return {"artifacts": (*record.artifacts, added)}


def _add_snapshot(record: WorkSession, event: works.SnapshotCreated, draft: Draft) -> dict[str, Any]:
    taken = (event.snapshot, event.artifact, event.sequence, event.reason, draft.ts, event.plan, event.step)
    return {"snapshots": (*record.snapshots, works.Snapshot(*taken))}


_WORK: dict[type[Event], Change] = {
    works.WorkSessionOpened: _set("goal", "label", "constraints", "previous"),
    works.WorkSessionLabelled: _set("label"),
    works.WorkSessionSummarised: _set("summary"),
    works.WorkSessionTeamFormed: _form_team,
    works.WorkSessionChanged: lambda record, event, draft: _become(record, draft, event.state, event.reason),
    works.WorkSessionCompleted: _complete_work,
    works.WorkSessionPaused: _set(paused=True, renamed={"pause_reason": "reason"}),
    works.WorkSessionResumed: _set(paused=False, pause_reason=""),
    works.WorkSessionCategorised: _set("category", at="categorised_at", by="categorised_by"),
    works.WorkSessionArtifactAdded: _add_artifact,
    works.SnapshotCreated: _add_snapshot,
}
WORK_SESSION: Kind[WorkSession] = Kind(
    "work session", "ws_", "folkmoot work list", _fold("work session", _begin_work, _WORK)
)
