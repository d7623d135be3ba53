"""Remote agents, over the Agent2Agent protocol: one attempt sends one message and gives back what came of it.

Whatever the other side knows of a request it knows by names that follow from the request's place: its context is the
session, its message the session's turn. So a request that may have been sent before is looked for first, and a server
that knows the message already need not begin anew. Nobody is asked back: who needs more than the message fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from uuid import NAMESPACE_URL, uuid5

import httpx
from a2a.client import Client, ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError

from folkmoot.domain.message import Answer
from folkmoot.domain.message import Message as Said
from folkmoot.domain.thread import HOPS
from folkmoot.models.a2a_reply import OVER, Heard
from folkmoot.models.a2a_way import Way
from folkmoot.ports import Hear, Request

LOOK = 1.0
"""Seconds between looks at a task that no stream tells about."""
_GOODBYE = 3.0
"""Seconds for the other side to hear that its task is cancelled."""


class RemoteAgent:
    """One agent that another program runs."""

    def __init__(self, way: Way, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._way = way
        self._sleep = sleep

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        heard = Heard(hear)
        with self._way.failures():
            client = await self._way.client()
            async with self._attended(client, request, heard):
                await self._ask(client, request, heard)
                while heard.state not in OVER:
                    await self._sleep(LOOK)
                    heard.task(await client.get_task(GetTaskRequest(id=heard.task_id)))
            return Answer(Said(role="assistant", text=heard.report(self._way.name)))

    async def described(self) -> str:
        """What its card says it is."""
        with self._way.failures():
            await self._way.client()
        return self._way.about

    async def aclose(self) -> None:
        await self._way.aclose()

    async def _ask(self, client: Client, request: Request, heard: Heard) -> None:
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
    async def _attended(self, client: Client, request: Request, heard: Heard) -> AsyncIterator[None]:
        """Whoever is not waited for any more need not go on."""
        try:
            yield
        except asyncio.CancelledError:
            await self._stop(client, request, heard)
            raise
        if heard.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await self._stop(client, request, heard)

    async def _stop(self, client: Client, request: Request, heard: Heard) -> None:
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
