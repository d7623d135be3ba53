"""Runs: start one, go on with one, take another way from some point of one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from folkmoot.domain.errand import Errand
from folkmoot.domain.part import File
from folkmoot.engine.admission import check_request
from folkmoot.engine.history import Fork, check_fit
from folkmoot.http.api.runs import OF_RUN
from folkmoot.http.api.shapes import RunState, begun_run, require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import input_refused
from folkmoot.http.requests import Given, Words, WorkSessionId, trace_of

ENDED = ("completed", "failed", "cancelled", "pruned")
_THEN = {name: OF_RUN for name in ("showRun", "cancelRun", "runEvents", "listSessions")}


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
    if run and (before := await begun_run(asked, run)):
        wanted = (agent.file, asked.moot.secrets.text(body.request), attached.attachments)
        same = (before.agent, before.request, before.errand.attachments) == wanted
        asked.must_repeat(same)
        return RunState(run, (await require_run(asked, run)).status)
    errand = replace(attached, work_session=body.work_session_id, label=body.label, run=run)
    run = await asked.house.room.begin(agent.file, body.request, errand, wait=body.wait)
    if body.cancel_on_disconnect:
        await asked.house.room.attended(run, asked.request.receive)
    return RunState(run, (await require_run(asked, run)).status)


async def resume_run(asked: Asked) -> RunState:
    """A run that is over stays as it is. The answer comes at once; the run goes on in the server."""
    status = (await require_run(asked, asked.id)).status
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
    await require_run(asked, asked.id)
    wanted = Fork(body.at, body.prompts, body.models, body.answer, body.request)
    with input_refused():
        run = await asked.moot.branch(asked.id, wanted)
    asked.house.room.resume(run, wait=body.wait)
    return RunState(run, "running")


OPERATIONS = (
    Endpoint(
        method="POST",
        path="/runs",
        summary="Start a run",
        handle=start_run,
        body=StartRun,
        answer=RunState,
        status=202,
        problems=(404, 409),
        links=_THEN,
    ),
    Endpoint(
        method="POST",
        path="/runs/{id}/resume",
        summary="Go on with a run that was interrupted or waits",
        handle=resume_run,
        body=ResumeRun,
        answer=RunState,
        status=202,
        problems=(409,),
        links=_THEN,
    ),
    Endpoint(
        method="POST",
        path="/runs/{id}/fork",
        summary="Start a run that begins as another one did",
        handle=fork_run,
        body=ForkRun,
        answer=RunState,
        status=202,
        links=_THEN,
    ),
)
