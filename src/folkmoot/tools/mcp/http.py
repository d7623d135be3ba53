"""A server at an address, as a transport of the SDK: streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx2
import msgspec
from mcp.client.streamable_http import streamable_http_client

from folkmoot.domain.trace import told
from folkmoot.tools.mcp.way import LONGEST, Way

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_CONNECT = 30.0
"""Seconds. How long an answer may take is said where it is waited for."""


@asynccontextmanager
async def over_http(way: Way) -> AsyncIterator[TransportStreams]:
    timeout = httpx2.Timeout(_CONNECT, read=None)
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [_trace], "response": [_bound]}
    async with (
        httpx2.AsyncClient(headers=way.headers(), timeout=timeout, event_hooks=hooks) as http,
        streamable_http_client(way.source.url or "", http_client=http) as streams,
    ):
        yield streams


async def _trace(request: httpx2.Request) -> None:
    """What stands in a call's `_meta`, for those that look at headers. The SDK sends it from a task of its own."""
    try:
        meta = msgspec.json.decode(request.content, type=_Message).params.meta
    except (msgspec.DecodeError, httpx2.StreamError):
        return
    request.headers.update({name: str(text) for name, text in told(meta).items()})


class _Params(msgspec.Struct):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")


class _Message(msgspec.Struct):
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
