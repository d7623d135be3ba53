"""Remote agents, over the Agent2Agent protocol: one attempt sends one message and gives back what came of it.

Whatever the other side knows of a request it knows by names that follow from the request's place: its context is the
session, its message the session's turn. So a request that may have been sent before is looked for first, and a server
that knows the message already need not begin anew. Nobody is asked back: who needs more than the message fails.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from uuid import NAMESPACE_URL, uuid5

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
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
from a2a.utils.errors import A2AError, InternalError
from yarl import URL

from folkmoot.domain.message import Answer
from folkmoot.domain.message import Message as Said
from folkmoot.domain.thread import HOPS
from folkmoot.errors import ModelFailed
from folkmoot.models.a2a_reply import OVER, Heard
from folkmoot.models.failure import cleaned, of_status
from folkmoot.ports import Hear, Request

LOOK = 1.0
"""Seconds between looks at a task that no stream tells about."""
_CONNECT, _SILENCE = 15.0, 180.0
_GOODBYE = 3.0
"""Seconds for the other side to hear that its task is cancelled."""
_BINDINGS = ["JSONRPC", "HTTP+JSON"]
_NOT_LET_IN = (401, 403)


class RemoteAgent:
    """One agent that another program runs."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        token: str = "",
        proxy: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._url = URL(url.rstrip("/"))
        self._token = token
        self._proxy = proxy
        self._sleep = sleep
        self._http: httpx.AsyncClient | None = None
        self._client: Client | None = None
        self._about = ""

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        heard = Heard(hear)
        with self._failures():
            client = await self._connected()
            async with self._attended(client, request, heard):
                await self._ask(client, request, heard)
                while heard.state not in OVER:
                    await self._sleep(LOOK)
                    heard.task(await client.get_task(GetTaskRequest(id=heard.task_id)))
            return Answer(Said(role="assistant", text=heard.report(self._name)))

    async def described(self) -> str:
        """What its card says it is."""
        with self._failures():
            await self._connected()
        return self._about

    async def aclose(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http:
            await http.aclose()

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
            parts=[Part(text=said.text) for said in request.messages if said.role in ("system", "user")],
            metadata={HOPS: request.hops + 1},
        )
        asked = SendMessageRequest(message=message)
        asked.configuration.return_immediately = True  # without a stream it is looked at now and then
        try:
            async for event in client.send_message(asked):
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
                tasks = (
                    [heard.task_id] if heard.task_id else [t.id for t in await self._tasks(client, request)]
                )
                for task in tasks:
                    await client.cancel_task(CancelTaskRequest(id=task))

    async def _connected(self) -> Client:
        if self._client is None:
            http = self._http = self._http or self._opened()
            card = await A2ACardResolver(http, str(self._url)).get_agent_card()
            own = [each for each in card.supported_interfaces if _origin(each.url) == self._url.origin()]
            if not own:
                named = ", ".join(each.url for each in card.supported_interfaces) or "nowhere"
                raise ModelFailed(
                    f"{self._name} is asked elsewhere, says its card at {self._url}: {cleaned(named, '')};"
                    " its `url` must have the same scheme, host and port",
                    retryable=False,
                )
            self._about = cleaned(f"{card.name}: {card.description}", self._token)
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(own)
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=_BINDINGS)
            self._client = ClientFactory(config).create(card)
        return self._client

    def _opened(self) -> httpx.AsyncClient:
        """No redirect is followed: another address was not given the token by anybody."""
        bearer = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return httpx.AsyncClient(
            headers={"User-Agent": "folkmoot", **bearer},
            timeout=httpx.Timeout(_SILENCE, connect=_CONNECT),
            proxy=self._proxy,
            verify=ssl.create_default_context(),
            trust_env=False,
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except A2AError as error:
            raise self._failed(error) from None
        except ValueError as error:  # a card without a way that both know
            text = f"{self._name} cannot be asked: {cleaned(str(error), self._token)}"
            raise ModelFailed(text, retryable=False) from None

    def _failed(self, error: A2AError) -> ModelFailed:
        cause = error.__cause__
        if isinstance(cause, httpx.HTTPStatusError):
            return self._refused(cause.response)
        if isinstance(cause, httpx.RequestError):
            why = cleaned(str(cause), self._token) or type(cause).__name__
            return ModelFailed(f"{self._name} could not be reached at {self._url}: {why}", retryable=True)
        said = f"{self._name} could not be asked: {cleaned(str(error), self._token)}"
        return ModelFailed(said, retryable=isinstance(error, InternalError))

    def _refused(self, answer: httpx.Response) -> ModelFailed:
        status = answer.status_code
        failed = of_status(self._name, status, answer.headers, answer.content, self._token)
        if status not in _NOT_LET_IN:
            return failed
        has = (
            "does not take the token that `apiKeyEnv` names"
            if self._token
            else "wants a token: see `apiKeyEnv`"
        )
        return ModelFailed(f"{failed}; it {has}", retryable=False)


def _id(*place: object) -> str:
    """The same for the same place in a run, whenever and by whomever it is asked."""
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, ("folkmoot", *place)))))


def _origin(url: str) -> URL | None:
    try:
        return URL(url).origin()
    except ValueError:
        return None
