"""Runs that this server carries on: started, resumed, forked, or for the step of a plan."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.plan_steps import step_of
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunStarted
from folkmoot.domain.naming import RUN
from folkmoot.domain.part import File
from folkmoot.domain.run_row import RunRow
from folkmoot.engine.admission import check_request
from folkmoot.engine.collaboration import begun
from folkmoot.engine.history import Fork, check_fit
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import input_refused
from folkmoot.http.requests import Given, Said, Words, WorkSessionId, trace_of
from folkmoot.operations.runs import RunState
from folkmoot.ports import Query

ENDED = ("completed", "failed", "cancelled", "pruned")
_THEN = {
    name: {"id": "$response.body#/runId"} for name in ("showRun", "cancelRun", "runEvents", "listSessions")
}


class AttachedFile(Given):
    name: Words
    data: bytes
    """The content, as base64; all of a request within its limit."""
    media_type: str = ""
    """Such as `image/png`; absent: what the content shows."""


class StartRun(Given):
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


class ResumeRun(Given):
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""
    with_current_files: bool = False
    """From here on use the files as they are now; that is recorded."""


class ForkRun(Given):
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


class RunStep(Said):
    text: str = ""
    """What its owner is asked; absent: what the step says."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""


async def start_run(asked: Asked) -> RunState:
    """Answers as soon as the run is durable; it goes on in the server. With `cancelOnDisconnect` it answers when the
    run has ended or waits for someone, and a client that goes away before that stops it."""
    body: StartRun = asked.body
    agent = asked.moot.agent(body.agent)
    files = [File(each.name, each.data, each.media_type) for each in body.attachments]
    with input_refused():
        check_request(agent, body.request)
        attached = asked.moot.enclose(Errand(**trace_of(asked.request.headers)), files)
    run = asked.chance[:20] if asked.key else ""
    if run and (before := await _begun(asked, run)):
        wanted = (agent.file, asked.moot.secrets.text(body.request), attached.attachments)
        asked.must_repeat((before.agent, before.request, before.errand.attachments) == wanted)
        return await _state(asked, run)
    errand = replace(attached, work_session=body.work_session_id, label=body.label, run=run)
    run = await asked.house.room.begin(agent.file, body.request, errand, wait=body.wait)
    if body.cancel_on_disconnect:
        await asked.house.room.attended(run, asked.request.receive)
    return await _state(asked, run)


async def run_step(asked: Asked) -> RunState:
    """Its agents are held to what the step may do: its tools, approvals and budget. The run goes on by itself, and the
    step is completed if the run is."""
    body: RunStep = asked.body
    run = asked.chance[:20] if asked.key else ""
    plan = await asked.desks.plans.get(await asked.desks.plans.find(asked.id))
    step = step_of(plan, asked.path["step"]).id
    if run and (before := await _begun(asked, run)):
        asked.must_repeat((before.errand.plan, before.errand.step) == (plan.id, step))
        return await _state(asked, run)
    wanted = await begun(asked.desks, plan.id, step, asked.author, body.text)
    errand = replace(wanted.errand, run=run)
    return await _state(
        asked, await asked.house.room.begin(wanted.owner, wanted.request, errand, wait=body.wait)
    )


async def resume_run(asked: Asked) -> RunState:
    """A run that is over stays as it is. The answer comes at once; the run goes on in the server."""
    status = (await _row(asked, asked.id)).status
    if status not in (*ENDED, "running"):
        body: ResumeRun = asked.body
        if body.with_current_files:
            check_fit([entry.draft async for entry in asked.moot.events(asked.id)], asked.moot.graph)
        asked.house.room.resume(asked.id, wait=body.wait, with_current_files=body.with_current_files)
        status = "running"
    return RunState(asked.id, status)


async def fork_run(asked: Asked) -> RunState:
    """In a fork every call of a tool that is not `pure` waits for a person's word."""
    body: ForkRun = asked.body
    await _row(asked, asked.id)
    wanted = Fork(body.at, body.prompts, body.models, body.answer, body.request)
    with input_refused():
        run = await asked.moot.branch(asked.id, wanted)
    asked.house.room.resume(run, wait=body.wait)
    return RunState(run, "running")


async def _row(asked: Asked, run: str) -> RunRow:
    """Raises `NotFound`, also for the name of a record that is no run."""
    if row := await asked.moot.row(run):
        return row
    raise RUN.missing(run)


async def _state(asked: Asked, run: str) -> RunState:
    return RunState(run, (await _row(asked, run)).status)


async def _begun(asked: Asked, run: str) -> RunStarted | None:
    """How a run of this name began, if there is one."""
    async for entry in asked.desks.journal.read(Query(stream=run, limit=1)):
        if isinstance(entry.event, RunStarted):
            return entry.event
    return None


def _going(path: str, summary: str, handle: Any, body: type[Given], *problems: int) -> Endpoint:
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


OPERATIONS = (
    _going("/runs", "Start a run", start_run, StartRun, 404, 409),
    _going("/runs/{id}/resume", "Go on with a run that was interrupted or waits", resume_run, ResumeRun, 409),
    _going("/runs/{id}/fork", "Start a run that begins as another one did", fork_run, ForkRun),
    _going("/plans/{id}/steps/{step}/run", "Let the owner of a step carry it out", run_step, RunStep, 409),
)
