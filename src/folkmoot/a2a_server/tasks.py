"""A run as a task of the protocol, folded from its journal: where it stands, what was said, its report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
from a2a.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus

from folkmoot.a2a_server.messages import context_of
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunPruned, RunStarted, SessionStarted
from folkmoot.domain.inbox_events import QuestionAnswered, QuestionAsked
from folkmoot.domain.report import Report
from folkmoot.views.inbox import how_to_answer, whole_call
from folkmoot.views.result import Result

WORKING = TaskState.TASK_STATE_WORKING
_ENDS = {
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "cancelled": TaskState.TASK_STATE_CANCELED,
}
ENDED = frozenset(_ENDS.values())
_MIME = {"json": "application/json", "markdown": "text/markdown", "text": "text/plain"}


def task_of(run: str, past: Sequence[Draft]) -> Task:
    result = Result(run, past)
    return Task(
        id=run,
        context_id=context_of(past[0].work_session_id),
        status=_status(result, past),
        artifacts=[_artifact(result, result.final_report)] if result.success and result.final_report else [],
        history=_history(run, past),
        metadata={"folkmoot": {"totals": msgspec.to_builtins(result.totals)}},
    )


def said(run: str, past: Sequence[Draft], id: str, text: str, role: Role = Role.ROLE_AGENT) -> Message:
    """Something that one of the two said, as a message of this task."""
    context = context_of(past[0].work_session_id)
    return Message(message_id=id, context_id=context, task_id=run, role=role, parts=[Part(text=text)])


def root_of(past: Sequence[Draft]) -> str:
    """The file of the agent that was asked."""
    match past[0].event if past else None:
        case RunStarted(agent=agent) | RunPruned(agent=agent):
            return agent
        case _:
            return ""


def at(ts: str) -> datetime:
    return datetime.fromisoformat(ts)


def _status(result: Result, past: Sequence[Draft]) -> TaskStatus:
    state, text = _state(result, past)
    status = TaskStatus(state=state, timestamp=at(past[-1].ts))
    if text:
        status.message.CopyFrom(said(result.run_id, past, f"{result.run_id}/{len(past)}", text))
    return status


def _state(result: Result, past: Sequence[Draft]) -> tuple[TaskState, str]:
    last = past[-1].event
    if isinstance(last, RunPruned):
        return _ENDS.get(last.status, TaskState.TASK_STATE_FAILED), "what happened in it was removed"
    if end := _ENDS.get(result.status):
        return end, result.error or ""
    if result.status == "waiting":
        return _waiting(result)
    begun = any(isinstance(draft.event, SessionStarted) for draft in past)
    return (WORKING if begun else TaskState.TASK_STATE_SUBMITTED), ""


def _waiting(result: Result) -> tuple[TaskState, str]:
    """A client can answer a question. What an agent may do is decided by the people of this project, not by whoever
    asked for it."""
    if questions := [item.question for item in result.inbox if item.kind == "question"]:
        return TaskState.TASK_STATE_INPUT_REQUIRED, questions[0]
    if not result.inbox:
        return WORKING, "the work session of this task is paused"
    asks = (
        f"{item.agent} wants to make the call {whole_call(item)} ({' or '.join(how_to_answer(item))})"
        for item in result.inbox
    )
    return TaskState.TASK_STATE_AUTH_REQUIRED, "it waits for a person's word here: " + "; ".join(asks)


def _artifact(result: Result, report: Report) -> Artifact:
    return Artifact(
        artifact_id="report",
        name="report",
        parts=[Part(text=report.content, media_type=_MIME[report.format])],
        metadata={"agent": result.final_agent_id or ""},
    )


def _history(run: str, past: Sequence[Draft]) -> Iterator[Message]:
    for draft in past:
        match draft.event:
            case RunStarted(request=request, errand=errand):
                yield said(run, past, errand.message or f"{run}/request", request, Role.ROLE_USER)
            case QuestionAsked(id=id, question=question):
                yield said(run, past, id, question)
            case QuestionAnswered(id=id, text=text):
                yield said(run, past, f"{id}/answer", text, Role.ROLE_USER)
