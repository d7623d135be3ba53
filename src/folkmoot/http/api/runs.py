"""What this server carries on: runs that it starts, resumes or forks, also for steps of plans; and collaborations."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.collaboration import Scene, WaitMove
from folkmoot.coordination.collaboration_phases import next_moves
from folkmoot.coordination.plan_steps import step_of
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunStarted
from folkmoot.domain.naming import RUN
from folkmoot.domain.part import File
from folkmoot.domain.run_row import RunRow
from folkmoot.domain.work_session import Roster, StateChange, WorkSessionOpened, WorkState
from folkmoot.engine.admission import check_request
from folkmoot.engine.claims import find_holder
from folkmoot.engine.collaboration import (
    begin_step_run,
    build_seats,
    describe_pause,
    open_collaboration,
    read_collaboration_state,
)
from folkmoot.engine.history import Fork, check_fit
from folkmoot.http.endpoint import ApiRequest, Endpoint
from folkmoot.http.problems import as_bad_request
from folkmoot.http.requests import ApiInput, AuthoredInput, Words, WorkSessionId, read_trace
from folkmoot.operations.runs import RunState
from folkmoot.ports import Query, RunQuery
from folkmoot.views.plans import document

ENDED = ("completed", "failed", "cancelled", "pruned")
_THEN = {
    name: {"id": "$response.body#/runId"} for name in ("showRun", "cancelRun", "runEvents", "listSessions")
}


class AttachedFile(ApiInput):
    name: Words
    data: bytes
    """The content, as base64; all of a request within its limit."""
    media_type: str = ""
    """Such as `image/png`; absent: what the content shows."""


class StartRun(ApiInput):
    agent: Words
    """Its file or id."""
    request: Words
    """What it is asked."""
    attachments: tuple[AttachedFile, ...] = ()
    """Images, PDF and text that go with the request."""
    work_session_id: WorkSessionId = ""
    """What the run belongs to; absent: a work session of its own."""
    label: str = ""
    """What that work session is called from here on."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""
    cancel_on_disconnect: bool = False
    """Answer when the run has ended or waits, and stop it if the client goes away before."""


class ResumeRun(ApiInput):
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""
    with_current_files: bool = False
    """From here on use the files as they are now; that is recorded."""


class ForkRun(ApiInput):
    at: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    """The last entry that is taken over, by its `runSeq`."""
    prompts: dict[str, Words] = {}
    """Other prompts, by the agent's file or id."""
    models: dict[str, Words] = {}
    """Other models, by the agent's file or id."""
    answer: str = ""
    """What the model says in place of the answer at this entry."""
    request: str = ""
    """Another request; only with `at` 1."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""


class RunStep(AuthoredInput):
    text: str = ""
    """What its owner is asked; absent: what the step says."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""


async def start_run(asked: ApiRequest) -> RunState:
    """Answers as soon as the run is durable; it goes on in the server. With `cancelOnDisconnect` it answers when the
    run has ended or waits for someone, and a client that goes away before that stops it."""
    body: StartRun = asked.body
    agent = asked.moot.agent(body.agent)
    files = [File(each.name, each.data, each.media_type) for each in body.attachments]
    with as_bad_request():
        check_request(agent, body.request)
        attached = asked.moot.enclose(Errand(**read_trace(asked.request.headers)), files)
    run = asked.chance[:20] if asked.key else ""
    if run and (before := await _find_run_started(asked, run)):
        wanted = (agent.file, asked.moot.secrets.text(body.request), attached.attachments)
        asked.must_repeat((before.agent, before.request, before.errand.attachments) == wanted)
        return await _read_run_state(asked, run)
    errand = replace(attached, work_session=body.work_session_id, label=body.label, run=run)
    run = await asked.house.room.begin(agent.file, body.request, errand, wait=body.wait)
    if body.cancel_on_disconnect:
        await asked.house.room.attended(run, asked.request.receive)
    return await _read_run_state(asked, run)


async def run_step(asked: ApiRequest) -> RunState:
    """Its agents are held to what the step may do: its tools, approvals and budget. The run goes on by itself, and the
    step is completed if the run is."""
    body: RunStep = asked.body
    run = asked.chance[:20] if asked.key else ""
    plan = await asked.desks.plans.get(await asked.desks.plans.find(asked.id))
    step = step_of(plan, asked.path["step"]).id
    if run and (before := await _find_run_started(asked, run)):
        asked.must_repeat((before.errand.plan, before.errand.step) == (plan.id, step))
        return await _read_run_state(asked, run)
    wanted = await begin_step_run(asked.desks, plan.id, step, asked.author, body.text)
    errand = replace(wanted.errand, run=run)
    return await _read_run_state(
        asked, await asked.house.room.begin(wanted.owner, wanted.request, errand, wait=body.wait)
    )


async def resume_run(asked: ApiRequest) -> RunState:
    """A run that is over stays as it is. The answer comes at once; the run goes on in the server."""
    status = (await _get_run_row(asked, asked.id)).status
    if status not in (*ENDED, "running"):
        body: ResumeRun = asked.body
        if body.with_current_files:
            check_fit([entry.draft async for entry in asked.moot.events(asked.id)], asked.moot.graph)
        asked.house.room.resume(asked.id, wait=body.wait, with_current_files=body.with_current_files)
        status = "running"
    return RunState(asked.id, status)


async def fork_run(asked: ApiRequest) -> RunState:
    """In a fork every call of a tool that is not `pure` waits for a person's word."""
    body: ForkRun = asked.body
    await _get_run_row(asked, asked.id)
    wanted = Fork(body.at, body.prompts, body.models, body.answer, body.request)
    with as_bad_request():
        run = await asked.moot.branch(asked.id, wanted)
    asked.house.room.resume(run, wait=body.wait)
    return RunState(run, "running")


async def _get_run_row(asked: ApiRequest, run: str) -> RunRow:
    """Raises `NotFound`, also for the name of a record that is no run."""
    if row := await asked.moot.row(run):
        return row
    raise RUN.missing(run)


async def _read_run_state(asked: ApiRequest, run: str) -> RunState:
    return RunState(run, (await _get_run_row(asked, run)).status)


async def _find_run_started(asked: ApiRequest, run: str) -> RunStarted | None:
    """How a run of this name began, if there is one."""
    async for entry in asked.desks.journal.read(Query(stream=run, limit=1)):
        if isinstance(entry.event, RunStarted):
            return entry.event
    return None


def _make_run_endpoint(
    path: str, summary: str, handle: Any, body: type[ApiInput], *problems: int
) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        summary=summary,
        handle=handle,
        body=body,
        answer=RunState,
        status=202,
        problems=problems,
        links=_THEN,
    )


_OF_THIS = {"id": "$response.body#/id"}
_AFTER_COLLABORATION = {
    name: _OF_THIS
    for name in ("showCollaboration", "showWorkSession", "pauseWorkSession", "cancelWorkSession")
}
_ENDS: dict[WorkState, str] = {"Completed": "completed", "Cancelled": "cancelled", "Error": "failed"}


class CollaborationMember(ApiInput):
    agent: Words
    """Its file or id."""
    role: MemberRole | None = None
    """Absent: the one in its file."""


class Collaborate(AuthoredInput):
    goal: Words
    """What the team shall reach."""
    members: tuple[CollaborationMember, ...] = ()
    """Who belongs to the team; absent: every agent of the project."""
    constraints: tuple[Words, ...] = ()
    """What must hold on the way."""


class CollaborationState(msgspec.Struct):
    id: str
    """Of its work session."""
    status: str


class MemberRun(msgspec.Struct, rename="camel"):
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
    asked: list[MemberRun]
    goal: str
    state: WorkState
    summary: str
    team: Roster | None
    plan: dict[str, Any] | None
    decisions: list[str]
    history: list[StateChange]


async def collaborate(asked: ApiRequest) -> CollaborationState:
    """It goes on by itself, whoever looks on, also when this server is started anew; what waits for a person stands in
    the inbox. Pause, resume or cancel its work session; the runs of its members are in the list of runs."""
    body: Collaborate = asked.body
    wanted = build_seats(asked.moot.graph, ((member.agent, member.role) for member in body.members))
    opening = WorkSessionOpened(body.goal, constraints=body.constraints)
    work = await open_collaboration(asked.desks, opening, wanted, asked.chance, asked.author)
    asked.must_repeat((work.goal, work.constraints) == (body.goal, body.constraints))
    if work.ended:
        return CollaborationState(work.id, _ENDS[work.state])
    await asked.house.carrying.begin(work.id, asked.author)
    return CollaborationState(work.id, "running")


async def resume_collaboration(asked: ApiRequest) -> CollaborationState:
    """Also one that was begun at a terminal. Members whose runs were cancelled are asked again."""
    await asked.desks.work_sessions.get(asked.id)
    await asked.house.carrying.begin(asked.id, asked.author)
    return CollaborationState(asked.id, "running")


async def show_collaboration(asked: ApiRequest) -> CollaborationDocument:
    scene = await read_collaboration_state(asked.desks, asked.id)
    named = RunQuery(runs=tuple(each.run for each in scene.askings.values()))
    runs = {row.run_id: row.status for row in await asked.moot.runs(named)}
    members = [
        MemberRun(
            each.purpose, each.agent, each.run, runs.get(each.run, "failed" if each.answer else "queued")
        )
        for each in scene.askings.values()
    ]
    waiting = [move.why for move in next_moves(scene) if isinstance(move, WaitMove)]
    for each in members:
        if not scene.answered(each.purpose) and (
            why := describe_pause(each.agent, each.purpose, each.status)
        ):
            waiting.append(why)
    shown: dict[str, Any] = msgspec.to_builtins(scene.document())
    shown["plan"] = document(scene.plan) if scene.plan else None
    told = {"id": asked.id, "status": await _collaboration_status(asked, scene, waiting), "waiting": waiting}
    return msgspec.convert({**shown, **told, "asked": members}, CollaborationDocument)


async def _collaboration_status(asked: ApiRequest, scene: Scene, waiting: list[str]) -> str:
    work = scene.work
    if work.ended:
        return _ENDS[work.state]
    if work.paused:
        return "paused"
    if waiting:
        return "waiting"
    return "running" if await find_holder(asked.desks.journal, work.id) else "interrupted"


OPERATIONS = (
    _make_run_endpoint("/runs", "Start a run", start_run, StartRun, 404, 409),
    _make_run_endpoint(
        "/runs/{id}/resume", "Go on with a run that was interrupted or waits", resume_run, ResumeRun, 409
    ),
    _make_run_endpoint("/runs/{id}/fork", "Start a run that begins as another one did", fork_run, ForkRun),
    _make_run_endpoint(
        "/plans/{id}/steps/{step}/run", "Let the owner of a step carry it out", run_step, RunStep, 409
    ),
    Endpoint(
        method="POST",
        path="/collaborations",
        summary="Let a team of agents reach a goal",
        handle=collaborate,
        body=Collaborate,
        answer=CollaborationState,
        status=202,
        problems=(404, 409),
        links=_AFTER_COLLABORATION,
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
        body=AuthoredInput,
        answer=CollaborationState,
        status=202,
        problems=(409,),
        links=_AFTER_COLLABORATION,
    ),
)
