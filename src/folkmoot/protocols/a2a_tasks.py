"""A run as a task of the Agent2Agent protocol, folded from its journal, and what a client's message says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec
from a2a import types
from a2a.helpers import get_data_parts
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError, TaskNotFoundError

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunParked, RunPruned, RunStarted, SessionStarted
from folkmoot.domain.inbox_events import QuestionAnswered, QuestionAsked
from folkmoot.domain.part import File
from folkmoot.domain.team_events import HOPS
from folkmoot.domain.text import storable
from folkmoot.ports import RunQuery
from folkmoot.protocols.runs import MEDIA_TYPES, RESTS, follow_run
from folkmoot.views.conversations import exchange, said_before
from folkmoot.views.inbox import how_to_answer, whole_call
from folkmoot.views.result import Result
from folkmoot.views.timeline import progress_line

_CONTEXT = re.compile(r"[A-Za-z0-9_-]{1,100}")
_OWN, _FOREIGN = "ws_", "ws_a2a-"
_MOST_HOPS = 1_000
_WORKING = types.TaskState.TASK_STATE_WORKING
_ENDS = {
    "completed": types.TaskState.TASK_STATE_COMPLETED,
    "failed": types.TaskState.TASK_STATE_FAILED,
    "cancelled": types.TaskState.TASK_STATE_CANCELED,
}


def text_of(message: types.Message) -> str:
    """Raises `A2AError` for a message without text."""
    if text := "\n\n".join(filter(None, map(_part_text, message.parts))).strip():
        return text
    raise InvalidParamsError("the message holds no text")


def files_of(message: types.Message) -> list[File]:
    return [
        File(storable(part.filename) or "file", part.raw, part.media_type)
        for part in message.parts
        if part.HasField("raw")
    ]


def _part_text(part: types.Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return storable(part.text)
        case "data":
            return storable(msgspec.json.encode(get_data_parts([part])[0]).decode())
        case "url":
            raise ContentTypeNotSupportedError("nothing is fetched from elsewhere: send the file itself")
        case _:
            return ""


def work_session_of(context: str) -> str:
    """Of a context; one that a client has named itself gets a prefix."""
    if context and not _CONTEXT.fullmatch(context):
        raise InvalidParamsError("a contextId has at most 100 letters, digits, - and _; or leave it out")
    return context if not context or context.startswith(_OWN) else f"{_FOREIGN}{context}"


def hops_of(message: types.Message) -> int:
    """How often the request was passed on before, if the client says so."""
    hops = dict(message.metadata).get(HOPS)
    return int(hops) if isinstance(hops, float) and 0 < hops < _MOST_HOPS else 0


def run_id_of(agent: Agent, message: types.Message) -> str:
    """The same for a message that comes again: its id alone might be another client's too."""
    content = (agent.file, message.context_id, message.message_id, text_of(message), files_of(message))
    return f"a2a-{sha256(msgspec.json.encode(content)).hexdigest()[:20]}"


def has_filter(asked: types.ListTasksRequest) -> bool:
    """Whether the list is filtered by what each task says."""
    return asked.status != types.TaskState.TASK_STATE_UNSPECIFIED or asked.HasField("status_timestamp_after")


def is_selected(task: types.Task, asked: types.ListTasksRequest) -> bool:
    at, since = task.status.timestamp, asked.status_timestamp_after
    if asked.HasField("status_timestamp_after") and (at.seconds, at.nanos) < (since.seconds, since.nanos):
        return False
    return asked.status in (types.TaskState.TASK_STATE_UNSPECIFIED, task.status.state)


class TaskRun(NamedTuple):
    """A run, up to some entry."""

    id: str
    past: Sequence[Entry]
    after: int
    """Updates begin behind this entry of the journal."""

    @property
    def task(self) -> types.Task:
        return build_task(self.id, [entry.draft for entry in self.past])

    @property
    def is_over(self) -> bool:
        return self.task.status.state in _ENDS.values()

    @property
    def rests(self) -> bool:
        return isinstance(self.past[-1].event, RESTS)

    @property
    def at_start(self) -> TaskRun:
        """From its first entry on, however much has happened since."""
        return TaskRun(self.id, self.past[:1], self.past[0].seq)

    @property
    def unparked(self) -> TaskRun:
        """It waits no more, though that is not in the journal yet."""
        parked = isinstance(self.past[-1].event, RunParked)
        return self._replace(past=self.past[:-1]) if parked else self


class TaskRuns:
    def __init__(self, moot: Folkmoot, agent: Agent) -> None:
        self._moot = moot
        self._agent = agent

    async def get(self, run: str) -> TaskRun:
        """Raises `TaskNotFoundError` for runs of other agents too: so an id need not be a secret."""
        if found := await self.find(run):
            return found
        raise TaskNotFoundError(f"there is no task {run!r} of this agent")

    async def find(self, run: str) -> TaskRun | None:
        past = [entry async for entry in self._moot.events(run)] if run else []
        match past[0].event if past else None:
            case RunStarted(agent=file) | RunPruned(agent=file) if file == self._agent.file:
                return TaskRun(run, past, past[-1].seq)
        return None

    async def list_runs(self, context: str = "") -> list[str]:
        """All, or those of a context, the newest first."""
        mine = RunQuery(agents=(self._agent.file,), work_session=work_session_of(context))
        return [row.run_id for row in await self._moot.runs(mine)]

    async def earlier_blocks(self, context: str) -> tuple[Block, ...]:
        """The earlier requests to this agent in a context, and its answers."""
        runs = [await self.find(run) for run in reversed(await self.list_runs(context))] if context else []
        pasts = [(run.id, [entry.draft for entry in run.past]) for run in runs if run]
        return said_before(filter(None, (exchange(id, past, "running") for id, past in pasts)))

    async def updates(
        self, run: TaskRun
    ) -> AsyncIterator[types.TaskStatusUpdateEvent | types.TaskArtifactUpdateEvent]:
        """A line for each step until the run ends or waits for someone, then the report and the last status."""
        id, context = run.id, run.task.context_id
        async for entry in follow_run(self._moot, run.id, run.after):
            if not isinstance(entry.event, RESTS) and (line := progress_line(entry.draft)):
                message = _build_message(run.id, [entry.draft], entry.id, line)
                status = types.TaskStatus(state=_WORKING, message=message, timestamp=_timestamp(entry.draft))
                yield types.TaskStatusUpdateEvent(task_id=id, context_id=context, status=status)
        rested = build_task(run.id, [entry.draft async for entry in self._moot.events(run.id)])
        for artifact in rested.artifacts:
            yield types.TaskArtifactUpdateEvent(
                task_id=id, context_id=context, artifact=artifact, last_chunk=True
            )
        yield types.TaskStatusUpdateEvent(task_id=id, context_id=context, status=rested.status)


def build_task(run: str, past: Sequence[Draft]) -> types.Task:
    result = Result(run, past)
    state, text = _task_state(result, past)
    status = types.TaskStatus(state=state, timestamp=_timestamp(past[-1]))
    if text:
        status.message.CopyFrom(_build_message(run, past, f"{run}/{len(past)}", text))
    return types.Task(
        id=run,
        context_id=_context_id(past),
        status=status,
        artifacts=_artifacts(result),
        history=_history(run, past),
        metadata={"folkmoot": {"totals": msgspec.to_builtins(result.totals)}},
    )


def _context_id(past: Sequence[Draft]) -> str:
    return past[0].work_session_id.removeprefix(_FOREIGN)


def _build_message(
    run: str, past: Sequence[Draft], id: str, text: str, role: types.Role = types.Role.ROLE_AGENT
) -> types.Message:
    parts = [types.Part(text=text)]
    return types.Message(message_id=id, context_id=_context_id(past), task_id=run, role=role, parts=parts)


def _timestamp(draft: Draft) -> datetime:
    return datetime.fromisoformat(draft.ts)


def _task_state(result: Result, past: Sequence[Draft]) -> tuple[types.TaskState, str]:
    last = past[-1].event
    if isinstance(last, RunPruned):
        return _ENDS.get(last.status, types.TaskState.TASK_STATE_FAILED), "what happened in it was removed"
    if end := _ENDS.get(result.status):
        return end, result.error or ""
    if result.status == "waiting":
        return _waiting_state(result)
    started = any(isinstance(draft.event, SessionStarted) for draft in past)
    return (_WORKING if started else types.TaskState.TASK_STATE_SUBMITTED), ""


def _waiting_state(result: Result) -> tuple[types.TaskState, str]:
    """A client can answer a question. Approvals are given by the people of this project, not by the client."""
    if questions := [item.question for item in result.inbox if item.kind == "question"]:
        return types.TaskState.TASK_STATE_INPUT_REQUIRED, questions[0]
    if not result.inbox:
        return _WORKING, "the work session of this task is paused"
    asks = (
        f"{item.agent} wants to make the call {whole_call(item)} ({' or '.join(how_to_answer(item))})"
        for item in result.inbox
    )
    return types.TaskState.TASK_STATE_AUTH_REQUIRED, "it waits for a person's word here: " + "; ".join(asks)


def _artifacts(result: Result) -> Iterator[types.Artifact]:
    if result.success and (report := result.final_report):
        parts = [types.Part(text=report.content, media_type=MEDIA_TYPES[report.format])]
        metadata = {"agent": result.final_agent_id or ""}
        yield types.Artifact(artifact_id="report", name="report", parts=parts, metadata=metadata)


def _history(run: str, past: Sequence[Draft]) -> Iterator[types.Message]:
    for draft in past:
        match draft.event:
            case RunStarted(request=request, errand=errand):
                yield _build_message(
                    run, past, errand.message or f"{run}/request", request, types.Role.ROLE_USER
                )
            case QuestionAsked(id=id, question=question):
                yield _build_message(run, past, id, question)
            case QuestionAnswered(id=id, text=text):
                yield _build_message(run, past, f"{id}/answer", text, types.Role.ROLE_USER)
