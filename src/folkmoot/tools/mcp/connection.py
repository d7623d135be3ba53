"""One open connection to a server. Only the files of this room that speak to servers import the SDK."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import httpx2
import mcp_types as types
import msgspec
from mcp.client import Client, Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from folkmoot.domain.message import Attachment, ToolResult
from folkmoot.domain.trace import told
from folkmoot.errors import ServerFailed
from folkmoot.tools.consent import Offer
from folkmoot.tools.mcp.config import LONGEST, ServerConfig
from folkmoot.tools.mcp.process import Process, running

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


_ME = types.Implementation(name="folkmoot", version="1")
_MOST_PAGES = 100
_FORGOTTEN = (types.INTERNAL_ERROR, types.INVALID_REQUEST)
"""What the SDK makes of a refusal over HTTP: perhaps the server was started anew, and knows this client no more."""
_HAND_RUN = "run this command by hand to see why"
_LOOK = "look whether it runs there, and whether you may use it"

# What a server does wrong is told where it matters; the SDK would print it over the live tree.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class ServerConnection:
    """Held by a task of its own, because whoever opens a client must also close it; calls come from any task."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._process = Process(config) if config.source.command else None
        self._over = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._holding = asyncio.create_task(self._hold())
        self.outdated = True
        """Whether the server may offer something else than was last seen."""

    @property
    def alive(self) -> bool:
        return not (self._over.is_set() or self._holding.done() or self._ended)

    async def opened(self) -> None:
        """Raises `ServerFailed`."""
        both: set[asyncio.Future[Any]] = {self._opened, self._holding}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done():
            await self._holding

    async def offers(self) -> tuple[Offer, ...]:
        """Raises `ServerFailed`."""
        client, self.outdated = self._opened.result(), False
        async with self._answering("it did not say what it offers"):
            return await _offers(client)

    async def call(self, tool: str, arguments: dict[str, Any], trace: Mapping[str, str]) -> ToolResult:
        """`trace` goes into the call's `_meta`, and over HTTP into its headers too.

        Raises `ServerFailed` if nobody knows what became of the call."""
        client, limit = self._opened.result(), self._config.source.timeout
        heard = self._process.heard if self._process else -1
        try:
            async with asyncio.timeout(limit or None) as bound:

                async def progressed(progress: float, total: float | None, message: str | None) -> None:
                    if limit and not bound.expired():
                        bound.reschedule(asyncio.get_running_loop().time() + limit)

                meta = cast(types.RequestParamsMeta, dict(trace)) if trace else None
                called = client.call_tool(tool, arguments, progress_callback=progressed, meta=meta)
                return as_result(await called)
        except TimeoutError:
            if self._process and self._process.heard == heard:
                self._over.set()  # it hangs; the next call gets a new one
            raise self._lost(f"it did not answer within {limit:g} s") from None
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                self._over.set()
                raise self._lost(f"the connection was lost ({error})") from None
            if self._process is None and error.code in _FORGOTTEN:
                self._over.set()
            return ToolResult(text=f"the server {self._config.name!r} refused: {error}", failed=True)
        except (RuntimeError, ValidationError) as error:  # what it gave is not what it says it gives
            return ToolResult(text=f"the server {self._config.name!r} answered wrongly: {error}", failed=True)

    async def close(self) -> None:
        self._over.set()
        if not self._opened.done():
            self._holding.cancel()
        await asyncio.wait({self._holding})
        if not self._holding.cancelled():
            self._holding.exception()  # whoever waited for it was told already

    @property
    def _ended(self) -> bool:
        return self._process is not None and self._process.at_end

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            async with self._answering("it did not answer"):
                client = await stack.enter_async_context(
                    Client(self._transport(), client_info=_ME, message_handler=self._hear, cache=None)
                )
            self._opened.set_result(client)
            watching = asyncio.create_task(self._watch(client))
            try:
                await self._over.wait()
            finally:
                watching.cancel()
                await asyncio.wait({watching})

    @asynccontextmanager
    async def _answering(self, otherwise: str) -> AsyncIterator[None]:
        """Whatever goes wrong here is told as a failure of this server."""
        try:
            async with asyncio.timeout(self._config.source.timeout or None):
                yield
        except ServerFailed:
            raise
        except Exception as error:
            self._over.set()
            why = f"{otherwise} within {self._config.source.timeout:g} s"
            if not isinstance(error, TimeoutError):
                why = f"{otherwise}: {_innermost(error)}"
            account = self._process.account() if self._process else ""
            remedy = _HAND_RUN if self._process else _LOOK
            raise self._config.failed("; ".join(filter(None, (why, account))), remedy) from None

    def _lost(self, why: str) -> ServerFailed:
        account = self._process.account() if self._process else ""
        told = "; ".join(filter(None, (why, account)))
        return ServerFailed(
            f"the tool server {self._config.name!r} was lost: {told}. "
            "Whether the call had an effect is not known: look before you repeat it"
        )

    def _transport(self) -> Transport:
        return running(self._process) if self._process else over_http(self._config)

    async def _hear(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.outdated = True

    async def _watch(self, client: Client) -> None:
        """Servers of the newer protocol tell what changed only to those who listen."""
        tools = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
            with suppress(Exception):  # then nobody is told: what it offers is looked at when it is connected
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self.outdated = True


async def _offers(client: Client) -> tuple[Offer, ...]:
    offers: list[Offer] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        offers += (
            Offer(
                tool.name,
                tool.description or tool.title or tool.name,
                tool.input_schema,
                tool.output_schema,
                read_only=bool(tool.annotations and tool.annotations.read_only_hint),
            )
            for tool in page.tools
        )
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(offers)


def _innermost(error: BaseException) -> str:
    """What really happened, inside the groups in which tasks pass it on."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def as_result(answer: types.CallToolResult) -> ToolResult:
    """All its text; and what it says as data, unless the text says the same."""
    parts = [_text(content) for content in answer.content]
    data = answer.structured_content
    if data is not None and not _says(parts, data):
        parts.append(msgspec.json.encode(data).decode())
    attached = tuple(each for each in map(_attachment, answer.content) if each)
    return ToolResult(text="\n".join(parts), failed=bool(answer.is_error), attachments=attached)


def _says(parts: list[str], data: Any) -> bool:
    """Servers tell data as JSON too, or wrap the text that they tell into an object, for whoever wants one."""
    whole = "\n".join(parts)
    return (isinstance(data, dict) and list(data.values()) == [whole]) or any(
        _is(part, data) for part in parts
    )


def _text(content: types.ContentBlock) -> str:
    """What is no text is attached, and said to be."""
    match content:
        case types.TextContent():
            return content.text
        case types.ImageContent() | types.AudioContent():
            return _sized(content.type, content.mime_type, content.data)
        case types.ResourceLink():
            return f"[resource {content.name}: {content.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return _sized(f"resource {resource.uri}", resource.mime_type or "", resource.blob)
    return f"[{content.type} is left out]"


def _sized(what: str, kind: str, encoded: str) -> str:
    return f"[{what}{f' {kind}' if kind else ''} of {len(_bytes(encoded)):,} bytes]"


def _attachment(content: types.ContentBlock) -> Attachment | None:
    match content:
        case types.ImageContent() | types.AudioContent():
            return Attachment(f"{content.type} {content.mime_type}", _bytes(content.data))
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return Attachment(f"resource {resource.uri}", _bytes(resource.blob))
    return None


def _bytes(encoded: str) -> bytes:
    """What a server calls base64; if it is not, what it sent."""
    try:
        return b64decode(encoded, validate=True)
    except ValueError:
        return encoded.encode()


def _is(text: str, data: Any) -> bool:
    try:
        return bool(msgspec.json.decode(text) == data)
    except msgspec.DecodeError:
        return False


_CONNECT = 30.0
"""Seconds. How long an answer may take is said where it is waited for."""


@asynccontextmanager
async def over_http(config: ServerConfig) -> AsyncIterator[TransportStreams]:
    timeout = httpx2.Timeout(_CONNECT, read=None)
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [_trace], "response": [_bound]}
    async with (
        httpx2.AsyncClient(headers=config.headers(), timeout=timeout, event_hooks=hooks) as http,
        streamable_http_client(config.source.url or "", http_client=http) as streams,
    ):
        yield streams


async def _trace(request: httpx2.Request) -> None:
    """What stands in a call's `_meta`, for those that look at headers. The SDK sends it from a task of its own."""
    try:
        meta = msgspec.json.decode(request.content, type=_RpcMessage).params.meta
    except (msgspec.DecodeError, httpx2.StreamError):
        return
    request.headers.update({name: str(text) for name, text in told(meta).items()})


class _Params(msgspec.Struct):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")


class _RpcMessage(msgspec.Struct):
    params: _Params = msgspec.field(default_factory=_Params)


async def _bound(response: httpx2.Response) -> None:
    """The SDK bounds each event of a stream, but not an answer that is one document."""
    if response.headers.get("content-type", "").startswith("application/json"):
        response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, whole: httpx2.AsyncByteStream) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._whole:
            size += len(part)
            if size > LONGEST:
                raise httpx2.StreamError(f"an answer of more than {LONGEST:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._whole.aclose()
