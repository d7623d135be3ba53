"""Collaborations: a goal, a team, and everything from the plan to the summary, carried on by this server."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.coordination.collaboration import Scene, WaitMove
from folkmoot.coordination.collaboration_phases import next_moves
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.work_session import Roster, StateChange, WorkSessionOpened, WorkState
from folkmoot.engine.collaboration import gathered, paused_by, scene_of, seats
from folkmoot.engine.owner import holder
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Given, Said, Words
from folkmoot.ports import RunQuery
from folkmoot.views.plans import document

_OF_THIS = {"id": "$response.body#/id"}
_THEN = {
    name: _OF_THIS
    for name in ("showCollaboration", "showWorkSession", "pauseWorkSession", "cancelWorkSession")
}
_ENDS: dict[WorkState, str] = {"Completed": "completed", "Cancelled": "cancelled", "Error": "failed"}


class Invited(Given):
    agent: Words
    """Its file or id."""
    role: MemberRole | None = None
    """Absent: the one in its file."""


class Collaborate(Said):
    goal: Words
    """What the team shall reach."""
    members: tuple[Invited, ...] = ()
    """Who belongs to the team; absent: every agent of the project."""
    constraints: tuple[Words, ...] = ()
    """What must hold on the way."""


class CollaborationState(msgspec.Struct):
    id: str
    """Of its work session."""
    status: str


class AskedMember(msgspec.Struct, rename="camel"):
    """What a member of the team was asked for."""

    purpose: str
    agent: str
    run_id: str
    status: str
    """Of its run."""


class CollaborationDocument(msgspec.Struct):
    id: str
    """Of its work session."""
    status: str
    """`running`, `waiting`, `paused`, `interrupted`, `completed`, `failed` or `cancelled`."""
    waiting: list[str]
    """Why it does not go on by itself."""
    asked: list[AskedMember]
    goal: str
    state: WorkState
    summary: str
    team: Roster | None
    plan: dict[str, Any] | None
    decisions: list[str]
    history: list[StateChange]


async def collaborate(asked: Asked) -> CollaborationState:
    """It goes on by itself, whoever looks on, also when this server is started anew; what waits for a person stands in
    the inbox. Pause, resume or cancel its work session; the runs of its members are in the list of runs."""
    body: Collaborate = asked.body
    wanted = seats(asked.moot.graph, ((member.agent, member.role) for member in body.members))
    opening = WorkSessionOpened(body.goal, constraints=body.constraints)
    work = await gathered(asked.desks, opening, wanted, asked.chance, asked.author)
    asked.must_repeat((work.goal, work.constraints) == (body.goal, body.constraints))
    if work.ended:
        return CollaborationState(work.id, _ENDS[work.state])
    await asked.house.carrying.begin(work.id, asked.author)
    return CollaborationState(work.id, "running")


async def resume_collaboration(asked: Asked) -> CollaborationState:
    """Also one that was begun at a terminal. Members whose runs were cancelled are asked again."""
    await asked.desks.work_sessions.get(asked.id)
    await asked.house.carrying.begin(asked.id, asked.author)
    return CollaborationState(asked.id, "running")


async def show_collaboration(asked: Asked) -> CollaborationDocument:
    scene = await scene_of(asked.desks, asked.id)
    named = RunQuery(runs=tuple(each.run for each in scene.askings.values()))
    runs = {row.run_id: row.status for row in await asked.moot.runs(named)}
    members = [
        AskedMember(
            each.purpose, each.agent, each.run, runs.get(each.run, "failed" if each.answer else "queued")
        )
        for each in scene.askings.values()
    ]
    waiting = [move.why for move in next_moves(scene) if isinstance(move, WaitMove)]
    for each in members:
        if not scene.answered(each.purpose) and (why := paused_by(each.agent, each.purpose, each.status)):
            waiting.append(why)
    shown: dict[str, Any] = msgspec.to_builtins(scene.document())
    shown["plan"] = document(scene.plan) if scene.plan else None
    told = {"id": asked.id, "status": await _status(asked, scene, waiting), "waiting": waiting}
    return msgspec.convert({**shown, **told, "asked": members}, CollaborationDocument)


async def _status(asked: Asked, scene: Scene, waiting: list[str]) -> str:
    work = scene.work
    if work.ended:
        return _ENDS[work.state]
    if work.paused:
        return "paused"
    if waiting:
        return "waiting"
    return "running" if await holder(asked.desks.journal, work.id) else "interrupted"


OPERATIONS = (
    Endpoint(
        method="POST",
        path="/collaborations",
        summary="Let a team of agents reach a goal",
        handle=collaborate,
        body=Collaborate,
        answer=CollaborationState,
        status=202,
        problems=(404, 409),
        links=_THEN,
    ),
    Endpoint(
        method="GET",
        path="/collaborations/{id}",
        summary="Where a collaboration stands, whom it asked, and why it does not go on",
        handle=show_collaboration,
        answer=CollaborationDocument,
        links={"showWorkSession": _OF_THIS, "showRun": {"id": "$response.body#/asked/0/runId"}},
    ),
    Endpoint(
        method="POST",
        path="/collaborations/{id}/resume",
        summary="Let this server carry a collaboration on",
        handle=resume_collaboration,
        body=Said,
        answer=CollaborationState,
        status=202,
        problems=(409,),
        links=_THEN,
    ),
)
