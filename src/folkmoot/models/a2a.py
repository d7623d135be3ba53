"""Remote agents, over the Agent2Agent protocol: one attempt sends one message and gives back what came of it.

Whatever the other side knows of a request it knows by names that follow from the request's place: its context is the
session, its message the session's turn. So a request that may have been sent before is looked for first, and a server
that knows the message already need not begin anew. Nobody is asked back: who needs more than the message fails.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

import httpx
from a2a import types
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.helpers import get_data_parts
from a2a.utils.errors import A2AError, InternalError
from yarl import URL

from folkmoot.domain.message import Answer, Message
from folkmoot.domain.team_events import HOPS
from folkmoot.domain.text import storable
from folkmoot.errors import FailureKind, ModelFailed
from folkmoot.models.failure import cleaned, of_status
from folkmoot.ports import Hear, Request

LOOK = 1.0
"""Seconds between looks at a task that no stream tells about."""
_GOODBYE = 3.0
"""Seconds for the other side to hear that its task is cancelled."""
_CONNECT, _SILENCE = 15.0, 180.0
_BINDINGS = ["JSONRPC", "HTTP+JSON"]
_NOT_LET_IN = (401, 403)


class RemoteAgent:
    """One agent that another program runs: the way there by the official client, and one attempt at a time."""

    def __init__(
        self,
        name: str,
        url: str,
        token: str = "",
        proxy: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._url = URL(url.rstrip("/"))
        self._token, self._proxy = token, proxy
        self._sleep = sleep
        self._http: httpx.AsyncClient | None = None
        self._client: Client | None = None
        self._about = ""
        """What its card says it is, as soon as that was read."""

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        heard = RemoteTask(hear)
        with self._failures():
            client = await self._connected()
            async with self._attended(client, request, heard):
                await self._ask(client, request, heard)
                while heard.state not in OVER:
                    await self._sleep(LOOK)
                    heard.task(await client.get_task(types.GetTaskRequest(id=heard.task_id)))
            return Answer(Message(role="assistant", text=heard.report(self._name)))

    async def described(self) -> str:
        """What its card says it is."""
        with self._failures():
            await self._connected()
        return self._about

    async def aclose(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http:
            await http.aclose()

    async def _ask(self, client: Client, request: Request, heard: RemoteTask) -> None:
        """Returns with the end, or with a task that goes on."""
        known = await self._tasks(client, request) if request.again else []
        going = [task for task in known if task.status.state != types.TaskState.TASK_STATE_CANCELED]
        if going:
            heard.task(going[0])
            return
        message = types.Message(
            message_id=_id(request.session, request.turn, len(known)),  # what was cancelled is asked anew
            context_id=_id(request.session),
            role=types.Role.ROLE_USER,
            parts=list(_parts(request)),
            metadata={HOPS: request.hops + 1},
        )
        asked = types.SendMessageRequest(message=message)
        told = ClientCallContext(service_parameters=request.trace)
        asked.configuration.return_immediately = True  # without a stream it is looked at now and then
        try:
            async for event in client.send_message(asked, context=told):
                heard.take(event)
        except A2AClientError:
            if not heard.task_id:  # else only the stream has ended
                raise

    async def _tasks(self, client: Client, request: Request) -> list[types.Task]:
        """What the other side made of this request before, the newest first. Not every server tells: then only the
        message's id can keep it from beginning anew."""
        context = _id(request.session)
        try:
            known = await client.list_tasks(
                types.ListTasksRequest(context_id=context, include_artifacts=True)
            )
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
        if heard.state == types.TaskState.TASK_STATE_INPUT_REQUIRED:
            await self._stop(client, request, heard)

    async def _stop(self, client: Client, request: Request, heard: RemoteTask) -> None:
        with suppress(A2AError, TimeoutError):
            async with asyncio.timeout(_GOODBYE):
                known = [] if heard.task_id else await self._tasks(client, request)
                for id in [heard.task_id] if heard.task_id else [task.id for task in known]:
                    await client.cancel_task(types.CancelTaskRequest(id=id))

    async def _connected(self) -> Client:
        """Made with the first request. Its card is believed only as far as it leads to the declared host."""
        if self._client is None:
            http = self._http = self._http or self._opened()
            card = await A2ACardResolver(http, str(self._url)).get_agent_card()
            self._narrow(card)
            self._about = cleaned(f"{card.name}: {card.description}", self._token)
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=_BINDINGS)
            self._client = ClientFactory(config).create(card)
        return self._client

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except A2AError as error:
            raise self._failed(error) from None
        except ValueError as error:  # a card without a way that both know
            text = f"{self._name} cannot be asked: {cleaned(str(error), self._token)}"
            raise ModelFailed(text, retryable=False) from None

    def _narrow(self, card: types.AgentCard) -> None:
        offered = list(card.supported_interfaces)
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(each for each in offered if _origin(each.url) == self._url.origin())
        if not card.supported_interfaces:
            named = ", ".join(each.url for each in offered) or "nowhere"
            raise ModelFailed(
                f"{self._name} is asked elsewhere, says its card at {self._url}: {cleaned(named, self._token)};"
                " its `url` must have the same scheme, host and port",
                retryable=False,
            )

    def _opened(self) -> httpx.AsyncClient:
        """No redirect is followed: another address was not given the token by anybody."""
        bearer = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return httpx.AsyncClient(
            headers={"User-Agent": "folkmoot", "Accept-Encoding": "identity", **bearer},
            timeout=httpx.Timeout(_SILENCE, connect=_CONNECT),
            transport=Bounded(verify=ssl.create_default_context(), proxy=self._proxy),
            trust_env=False,
        )

    def _failed(self, error: A2AError) -> ModelFailed:
        cause = error.__cause__
        if isinstance(cause, httpx.HTTPStatusError):
            return self._refused(cause.response)
        if isinstance(cause, httpx.RequestError):
            why = cleaned(str(cause), self._token) or type(cause).__name__
            kind: FailureKind = "timeout" if isinstance(cause, httpx.TimeoutException) else "unknown"
            return ModelFailed(
                f"{self._name} could not be reached at {self._url}: {why}", retryable=True, kind=kind
            )
        said = f"{self._name} could not be asked: {cleaned(str(error), self._token)}"
        return ModelFailed(said, retryable=isinstance(error, InternalError))

    def _refused(self, answer: httpx.Response) -> ModelFailed:
        status = answer.status_code
        failed = of_status(self._name, status, answer.headers, answer.content, self._token)
        if status not in _NOT_LET_IN:
            return failed
        wants = "does not take the token that `apiKeyEnv` names"
        wants = wants if self._token else "wants a token: `apiKeyEnv`"
        return ModelFailed(f"{failed}; it {wants}", retryable=False, status=status)


def _parts(request: Request) -> Iterator[types.Part]:
    for said in request.messages:
        if said.role in ("system", "user"):
            yield types.Part(text=said.text)
            for part in said.parts:
                yield types.Part(
                    raw=request.contents[part.artifact], media_type=part.media, filename=part.name
                )


def _id(*place: object) -> str:
    """The same for the same place in a run, whenever and by whomever it is asked."""
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, ("folkmoot", *place)))))


_ENDED = {
    types.TaskState.TASK_STATE_FAILED: "failed",
    types.TaskState.TASK_STATE_CANCELED: "was cancelled there",
    types.TaskState.TASK_STATE_REJECTED: "did not take the request",
    types.TaskState.TASK_STATE_INPUT_REQUIRED: "asks back, and a remote agent is told no more than its request",
}
OVER = (types.TaskState.TASK_STATE_COMPLETED, *_ENDED)
"""Nothing more comes: either it has ended, or it asks back. A word of its own people it may wait for."""


class RemoteTask:
    def __init__(self, hear: Hear | None = None) -> None:
        self.task_id = ""
        self.state = types.TaskState.TASK_STATE_UNSPECIFIED
        self._said = ""
        """Beside the state."""
        self._artifacts: dict[str, str] = {}
        self._hear = hear

    def take(self, event: types.StreamResponse) -> None:
        match event.WhichOneof("payload"):
            case "task":
                self.task(event.task)
            case "message":
                self.state, self._said = types.TaskState.TASK_STATE_COMPLETED, text_of(event.message.parts)
            case "status_update":
                self.task_id = event.status_update.task_id
                self.state = event.status_update.status.state
                self._said = text_of(event.status_update.status.message.parts)
            case "artifact_update":
                self._artifact(event.artifact_update)

    def task(self, task: types.Task) -> None:
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

    def _artifact(self, update: types.TaskArtifactUpdateEvent) -> None:
        id, text = update.artifact.artifact_id, text_of(update.artifact.parts)
        self.task_id = update.task_id
        self._artifacts[id] = (self._artifacts.get(id, "") if update.append else "") + text
        if self._hear and text:
            self._hear(text)


def text_of(parts: Iterable[types.Part]) -> str:
    """Text goes on from part to part, for it may have come piece by piece; all else has lines of its own."""
    pieces = (part.text if part.HasField("text") else f"\n{_named(part)}\n" for part in parts)
    return "".join(pieces).strip("\n")


def _named(part: types.Part) -> str:
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


def _origin(url: str) -> URL | None:
    try:
        return URL(url).origin()
    except ValueError:
        return None


class Bounded(httpx.AsyncHTTPTransport):
    """Raises `httpx.ReadError` when a body is larger than `largest` bytes, or is packed, whoever asked for that."""

    largest = 32 * 1024 * 1024

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if answer.headers.get("content-encoding", "identity") != "identity":
            await answer.aclose()
            raise httpx.ReadError("the answer is packed, though that was not asked for", request=request)
        answer.stream = _Counted(cast(httpx.AsyncByteStream, answer.stream), self.largest)
        return answer


class _Counted(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, largest: int) -> None:
        self._stream = stream
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._largest:
                raise httpx.ReadError(f"the answer has more than {self._largest // 1024 // 1024} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
