"""Remote agents, over the Agent2Agent protocol: one attempt sends one message and gives back what came of it.

Whatever the other side knows of a request it knows by names that follow from the request's place: its context is the
session, its message the session's turn. So a request that may have been sent before is looked for first, and a server
that knows the message already need not begin anew. Nobody is asked back: who needs more than the message fails.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from a2a.client import Client, ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.helpers import get_data_parts
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
)
from a2a.utils.errors import A2AError

from folkmoot.domain.message import Answer
from folkmoot.domain.message import Message as Said
from folkmoot.domain.team_events import HOPS
from folkmoot.domain.text import storable
from folkmoot.errors import ModelFailed
from folkmoot.models.a2a_connection import RemoteConnection
from folkmoot.models.failure import cleaned
from folkmoot.ports import Hear, Request

LOOK = 1.0
"""Seconds between looks at a task that no stream tells about."""
_GOODBYE = 3.0
"""Seconds for the other side to hear that its task is cancelled."""


class RemoteAgent:
    """One agent that another program runs."""

    def __init__(
        self, connection: RemoteConnection, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._connection = connection
        self._sleep = sleep

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        heard = RemoteTask(hear)
        with self._connection.failures():
            client = await self._connection.client()
            async with self._attended(client, request, heard):
                await self._ask(client, request, heard)
                while heard.state not in OVER:
                    await self._sleep(LOOK)
                    heard.task(await client.get_task(GetTaskRequest(id=heard.task_id)))
            return Answer(Said(role="assistant", text=heard.report(self._connection.name)))

    async def described(self) -> str:
        """What its card says it is."""
        with self._connection.failures():
            await self._connection.client()
        return self._connection.about

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def _ask(self, client: Client, request: Request, heard: RemoteTask) -> None:
        """Returns with the end, or with a task that goes on."""
        known = await self._tasks(client, request) if request.again else []
        going = [task for task in known if task.status.state != TaskState.TASK_STATE_CANCELED]
        if going:
            heard.task(going[0])
            return
        message = Message(
            message_id=_id(request.session, request.turn, len(known)),  # what was cancelled is asked anew
            context_id=_id(request.session),
            role=Role.ROLE_USER,
            parts=list(_parts(request)),
            metadata={HOPS: request.hops + 1},
        )
        asked = SendMessageRequest(message=message)
        told = ClientCallContext(service_parameters=request.trace)
        asked.configuration.return_immediately = True  # without a stream it is looked at now and then
        try:
            async for event in client.send_message(asked, context=told):
                heard.take(event)
        except A2AClientError:
            if not heard.task_id:  # else only the stream has ended
                raise

    async def _tasks(self, client: Client, request: Request) -> list[Task]:
        """What the other side made of this request before, the newest first. Not every server tells: then only the
        message's id can keep it from beginning anew."""
        context = _id(request.session)
        try:
            known = await client.list_tasks(ListTasksRequest(context_id=context, include_artifacts=True))
        except NotImplementedError:
            return []
        except A2AError as error:
            if isinstance(error.__cause__, httpx.HTTPError):
                raise
            return []
        return [task for task in known.tasks if task.context_id == context]

    @asynccontextmanager
    async def _attended(self, client: Client, request: Request, heard: RemoteTask) -> AsyncIterator[None]:
        """Whoever is not waited for any more need not go on."""
        try:
            yield
        except asyncio.CancelledError:
            await self._stop(client, request, heard)
            raise
        if heard.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await self._stop(client, request, heard)

    async def _stop(self, client: Client, request: Request, heard: RemoteTask) -> None:
        with suppress(A2AError, TimeoutError):
            async with asyncio.timeout(_GOODBYE):
                known = [] if heard.task_id else await self._tasks(client, request)
                for id in [heard.task_id] if heard.task_id else [task.id for task in known]:
                    await client.cancel_task(CancelTaskRequest(id=id))


def _parts(request: Request) -> Iterator[Part]:
    for said in request.messages:
        if said.role in ("system", "user"):
            yield Part(text=said.text)
            for part in said.parts:
                yield Part(raw=request.contents[part.artifact], media_type=part.media, filename=part.name)


def _id(*place: object) -> str:
    """The same for the same place in a run, whenever and by whomever it is asked."""
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, ("folkmoot", *place)))))


OVER = (
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_INPUT_REQUIRED,
)
"""Nothing more comes: either it has ended, or it asks back. A word of its own people it may wait for."""
_ENDED = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was cancelled there",
    TaskState.TASK_STATE_REJECTED: "did not take the request",
    TaskState.TASK_STATE_INPUT_REQUIRED: "asks back, and a remote agent is told no more than its request",
}


class RemoteTask:
    def __init__(self, hear: Hear | None = None) -> None:
        self.task_id = ""
        self.state = TaskState.TASK_STATE_UNSPECIFIED
        self._said = ""
        """Beside the state."""
        self._artifacts: dict[str, str] = {}
        self._hear = hear

    def take(self, event: StreamResponse) -> None:
        match event.WhichOneof("payload"):
            case "task":
                self.task(event.task)
            case "message":
                self.state, self._said = TaskState.TASK_STATE_COMPLETED, text_of(event.message.parts)
            case "status_update":
                self.task_id = event.status_update.task_id
                self.state = event.status_update.status.state
                self._said = text_of(event.status_update.status.message.parts)
            case "artifact_update":
                self._artifact(event.artifact_update)

    def task(self, task: Task) -> None:
        """As a whole, whatever was known before."""
        self.task_id, self.state = task.id, task.status.state
        self._said = text_of(task.status.message.parts)
        self._artifacts = {artifact.artifact_id: text_of(artifact.parts) for artifact in task.artifacts}

    def report(self, name: str) -> str:
        """Raises `ModelFailed` for whoever gave none."""
        if how := _ENDED.get(self.state):
            why = cleaned(self._said, "")
            raise ModelFailed(f"{name} {how}{f': {why}' if why else ''}", retryable=False)
        if text := "\n\n".join(filter(None, self._artifacts.values())) or self._said:
            return storable(text)
        raise ModelFailed(f"{name} is done, and said nothing", retryable=False)

    def _artifact(self, update: TaskArtifactUpdateEvent) -> None:
        id, text = update.artifact.artifact_id, text_of(update.artifact.parts)
        self.task_id = update.task_id
        self._artifacts[id] = (self._artifacts.get(id, "") if update.append else "") + text
        if self._hear and text:
            self._hear(text)


def text_of(parts: Iterable[Part]) -> str:
    """Text goes on from part to part, for it may have come piece by piece; all else has lines of its own."""
    return "".join(part.text if part.HasField("text") else f"\n{_named(part)}\n" for part in parts).strip(
        "\n"
    )


def _named(part: Part) -> str:
    """A file is only named: whoever reads the report can look for it there."""
    match part.WhichOneof("content"):
        case "data":
            return json.dumps(_with_whole_numbers(get_data_parts([part])[0]), ensure_ascii=False)
        case "url":
            return f"[{part.filename or 'a file'} at {part.url}]"
        case _:
            return f"[{part.filename or 'a file'}, {len(part.raw)} bytes, not taken over]"


def _with_whole_numbers(value: Any) -> Any:
    """As they were written: on the way every number is one with a fraction."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _with_whole_numbers(inner) for key, inner in value.items()}
        case list():
            return [_with_whole_numbers(inner) for inner in value]
        case _:
            return value
