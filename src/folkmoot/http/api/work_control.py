"""Work sessions: open, form a team, pause, go on, stop, complete, and say what one is about."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from folkmoot.coordination.keeping import Decide
from folkmoot.coordination.work_sessions import decide
from folkmoot.coordination.work_sessions.forming import Seat
from folkmoot.domain.category import CategoryId
from folkmoot.domain.work_session import ArtifactKind, WorkSession, WorkState
from folkmoot.domain.work_session_events import WorkSessionOpened
from folkmoot.errors import NotFound
from folkmoot.http.api.shapes import go_on
from folkmoot.http.api.work_sessions import row_of
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.reading import Said, Words
from folkmoot.views.work_sessions import WorkRow

OF_WORK = {"id": "$response.body#/id"}
_THEN = (
    "showWorkSession",
    "formTeam",
    "pauseWorkSession",
    "resumeWorkSession",
    "changeState",
    "cancelWorkSession",
)


class OpenWork(Said):
    goal: Words
    """What shall be reached."""
    label: str = ""
    """What it is called in lists."""
    constraints: tuple[Words, ...] = ()
    """What must hold on the way."""
    previous: str = ""
    """The one that it goes on with."""


class FormTeam(Said):
    members: Annotated[tuple[Seat, ...], Meta(min_length=1, max_length=100)]
    """What is wanted of each member: a role, capabilities, or an agent by its id; and what it may do."""
    name: str = ""


class ControlWork(Said):
    reason: str = ""


class ChangeState(Said):
    state: WorkState
    reason: str = ""


class CompleteWork(Said):
    summary: Words
    """What came of it."""
    decisions: tuple[str, ...] = ()
    """The decisions that were taken."""


class Categorise(Said):
    category: CategoryId


class Label(Said):
    label: Words


class AddArtifact(Said):
    kind: ArtifactKind
    title: Words
    content: str


class Controlled(msgspec.Struct):
    id: str
    status: str
    runs: list[str]
    """The runs that it concerns."""


class WorkRecord(WorkSession, kw_only=True, omit_defaults=False):
    """The record of a work session, with its activity."""

    status: str


async def open_work_session(asked: Asked) -> dict[str, Any]:
    body: OpenWork = asked.body
    if body.previous and not await asked.desks.work_sessions.find(body.previous):
        raise NotFound(f"there is no work session {body.previous!r}", code="work_session_not_found")
    opening = WorkSessionOpened(body.goal, body.label, body.constraints, body.previous)
    record = await asked.desks.work_sessions.open(opening, asked.author, chance=asked.chance)
    asked.must_repeat(record.goal == body.goal)
    return _shown(record, "ACTIVE")


async def form_team(asked: Asked) -> dict[str, Any]:
    """Refused if no agent fits a seat."""
    body: FormTeam = asked.body
    row = await row_of(asked)
    return _shown(
        await asked.desks.work_sessions.form(asked.id, body.members, asked.author, body.name), row.status
    )


async def change_state(asked: Asked) -> dict[str, Any]:
    """Only to a state that follows from where it is."""
    return await _changed(asked, decide.becoming(asked.body.state, asked.body.reason))


async def complete_work_session(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, decide.completed(asked.body.summary, asked.body.decisions))


async def categorise_work_session(asked: Asked) -> WorkRow:
    """That holds, whatever its words say."""
    await _changed(asked, decide.categorised(asked.body.category))
    return await row_of(asked)


async def label_work_session(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, decide.labelled(asked.body.label))


async def add_artifact(asked: Asked) -> dict[str, Any]:
    body: AddArtifact = asked.body
    row = await row_of(asked)
    record = await asked.desks.work_sessions.add_artifact(
        asked.id, body.kind, body.title, body.content.encode(), asked.author
    )
    return _shown(record, row.status)


async def pause_work_session(asked: Asked) -> Controlled:
    """From here on no run starts in it, and those under way ask no model."""
    await row_of(asked)
    runs = await asked.moot.control.pause(asked.id, asked.body.reason, asked.author)
    return Controlled(asked.id, "paused", runs)


async def resume_work_session(asked: Asked) -> Controlled:
    """Its runs go on in this server, unless others hold them."""
    await row_of(asked)
    runs = await asked.moot.control.resume(asked.id, asked.author)
    for run in runs:
        go_on(asked, run)
    return Controlled(asked.id, "resumed", runs)


async def cancel_work_session(asked: Asked) -> Controlled:
    """Its runs are stopped with it, wherever they run."""
    await row_of(asked)
    runs = await asked.moot.control.cancel(asked.id, asked.body.reason, asked.author)
    return Controlled(asked.id, "cancelled", runs)


async def _changed(asked: Asked, decided: Decide[WorkSession]) -> dict[str, Any]:
    row = await row_of(asked)
    return _shown(await asked.desks.work_sessions.change(asked.id, decided, asked.author), row.status)


def _shown(record: WorkSession, status: str) -> dict[str, Any]:
    kept: dict[str, Any] = msgspec.to_builtins(record)
    return {**kept, "status": status}


def _change(verb: str, summary: str, handle: Any, body: Any, answer: Any = WorkRecord) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/work-sessions/{{id}}/{verb}",
        summary=summary,
        handle=handle,
        body=body,
        answer=answer,
        problems=(409,),
        links={"showWorkSession": OF_WORK, "changeState": OF_WORK},
    )


OPERATIONS = (
    Endpoint(
        method="POST",
        path="/work-sessions",
        summary="Open a work session",
        handle=open_work_session,
        body=OpenWork,
        answer=WorkRecord,
        status=201,
        problems=(404,),
        links={name: OF_WORK for name in _THEN},
    ),
    Endpoint(
        method="PATCH",
        path="/work-sessions/{id}/category",
        summary="Say what a work session is about",
        handle=categorise_work_session,
        body=Categorise,
        answer=WorkRow,
        problems=(409,),
    ),
    _change("team", "Put its team together from the agents of the project", form_team, FormTeam),
    _change("state", "Let it go on to another state", change_state, ChangeState),
    _change("complete", "Complete it with a summary", complete_work_session, CompleteWork),
    _change("label", "Name it, for lists", label_work_session, Label),
    _change("artifacts", "Keep something that came of the work", add_artifact, AddArtifact),
    _change("pause", "Pause it together with its runs", pause_work_session, ControlWork, Controlled),
    _change("resume", "Let it go on together with its runs", resume_work_session, ControlWork, Controlled),
    _change("cancel", "Give it up and stop its runs", cancel_work_session, ControlWork, Controlled),
)
