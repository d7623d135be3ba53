"""What a work session is after all that happened to it. Pure."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.plan_events import SnapshotCreated
from folkmoot.domain.reference import Kind
from folkmoot.domain.work_session import Snapshot, StateChange, WorkArtifact, WorkSession, WorkState
from folkmoot.domain.work_session_events import (
    WorkSessionArtifactAdded,
    WorkSessionCategorised,
    WorkSessionChanged,
    WorkSessionCompleted,
    WorkSessionLabelled,
    WorkSessionOpened,
    WorkSessionPaused,
    WorkSessionResumed,
    WorkSessionSummarised,
    WorkSessionTeamFormed,
)

_SAY = (
    WorkSessionOpened,
    WorkSessionLabelled,
    WorkSessionSummarised,
    WorkSessionTeamFormed,
    WorkSessionCategorised,
    WorkSessionCompleted,
)
"""Their fields are fields of the record."""


def evolve(record: WorkSession | None, draft: Draft) -> WorkSession:
    """Any event may be the first: also one that began with a plain run is named, categorised or paused."""
    at, by, event = draft.ts, draft.agent_id, draft.event
    now = record or _become(WorkSession(draft.work_session_id, created_at=at, created_by=by), draft)
    if isinstance(event, _SAY):
        now = replace(now, **asdict(event))
    match event:
        case WorkSessionChanged(state=state, reason=reason):
            now = _become(now, draft, state, reason)
        case WorkSessionTeamFormed() if now.state == "Initialized":
            now = _become(now, draft, "TeamFormed")
        case WorkSessionCompleted():
            now = _become(now, draft, "Completed")
        case WorkSessionPaused(reason=reason):
            now = replace(now, paused=True, pause_reason=reason)
        case WorkSessionResumed():
            now = replace(now, paused=False, pause_reason="")
        case WorkSessionCategorised():
            now = replace(now, categorised_by=by, categorised_at=at)
        case WorkSessionArtifactAdded(artifact=artifact, kind=kind, title=title):
            now = replace(now, artifacts=(*now.artifacts, WorkArtifact(artifact, kind, title, by)))
        case SnapshotCreated() as taken:
            now = replace(now, snapshots=(*now.snapshots, _snapshot(taken, at)))
    return now


def _become(
    record: WorkSession, draft: Draft, state: WorkState = "Initialized", reason: str = ""
) -> WorkSession:
    change = StateChange(state, draft.ts, draft.agent_id, reason)
    return replace(record, state=state, history=(*record.history, change))


def _snapshot(taken: SnapshotCreated, at: str) -> Snapshot:
    return Snapshot(
        taken.snapshot, taken.artifact, taken.sequence, taken.reason, at, plan=taken.plan, step=taken.step
    )


WORK_SESSION: Kind[WorkSession] = Kind("work session", "ws_", "folkmoot work list", evolve)
