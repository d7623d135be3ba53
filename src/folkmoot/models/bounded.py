"""Answers over httpx that end: what is larger than any answer has to be is not read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import httpx


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
