"""The way to a provider: one connection pool for all of them, and what can go wrong on it as `ModelFailed`.

Only this file speaks HTTP. It sends bytes and gives back bytes; what they mean is the adapters' business.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from typing import TypeVar

import aiohttp
import msgspec
from yarl import URL

from folkmoot.domain.providers import LOOPBACK
from folkmoot.errors import FailureKind, ModelFailed
from folkmoot.models import failure
from folkmoot.models.incoming import Unreadable, read

T = TypeVar("T")

LARGEST_BODY = 32 * 1024 * 1024
LARGEST_STREAM = 4 * LARGEST_BODY
"""An event weighs many times the few characters it brings."""
CONNECTIONS = 256
"""More requests than this at once wait for one another."""

_LARGEST_ERROR = 64 * 1024
_LINGER = 0.25
"""Seconds to wait for the proper end of a stream after its last event, so that its connection can be kept."""
_SENT_AT_ONCE = 1024 * 1024

Take = Callable[[bytes], bool]
"""Takes the data of one event; true when the answer is complete with it."""


class Pool:
    """Every connection of this process to providers. Opened with the first request, closed by the app."""

    def __init__(self, *, connect: float = 15.0, silence: float = 180.0) -> None:
        self.connect = connect
        """Seconds until a connection stands."""
        self.silence = silence
        """Seconds without a byte in a stream of events; an answer in one piece may take its whole time."""
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=30.0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


class ModelEndpoint:
    """One address of one provider, with the key that opens it."""

    def __init__(
        self,
        pool: Pool,
        provider: str,
        url: str,
        *,
        headers: Mapping[str, str],
        secret: str,
        proxy: str | None,
    ) -> None:
        self.provider = provider
        self._pool = pool
        self._url = URL(url)
        if self._url.scheme not in ("http", "https") or not self._url.host or self._url.user is not None:
            raise ValueError(f"{provider} needs an address like https://host/path, without a user name")
        self._secret = secret
        self._proxy = proxy
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # answers are small, and a stream must not wait in a compressor
            "User-Agent": "folkmoot",
            **headers,
        }

    def within(self, trace: Mapping[str, str]) -> ModelEndpoint:
        """The same, for a request that belongs into a trace; what the project says of its headers goes first."""
        same = copy(self)
        same._headers = {**trace, **self._headers}
        return same

    async def ask(self, body: bytes) -> bytes:
        """The body of the answer. How long it may take in all, the session knows."""
        return await self._post(body, None)

    async def listen(self, body: bytes, take: Take) -> bytes:
        """Hand each event to `take`; gives back the body of a provider that answers in one piece instead."""
        return await self._post(body, take)

    def read(self, body: bytes, decoder: msgspec.json.Decoder[T], *, piece: bool = False) -> T:
        """An answer, or a piece of one; what a provider says inside of it to have gone wrong is raised."""
        try:
            said = read(body, decoder, piece=piece)
        except Unreadable as why:
            raise self.unreadable(body, str(why)) from None
        if error := getattr(said, "error", None):
            raise failure.of_error(self.provider, error, self._secret)
        return said

    def unreadable(self, body: bytes, why: str) -> ModelFailed:
        return failure.of_unreadable(self.provider, body, why, self._secret)

    def broken_off(self) -> ModelFailed:
        return ModelFailed(f"{self.provider} broke off in the middle of its answer", retryable=True)

    async def _post(self, body: bytes, take: Take | None) -> bytes:
        silence = self._pool.silence if take else None
        patience = aiohttp.ClientTimeout(sock_connect=self._pool.connect, sock_read=silence)
        try:
            async with self._pool.session.post(
                self._url,
                data=body if len(body) <= _SENT_AT_ONCE else io.BytesIO(body),
                headers=self._headers,
                timeout=patience,
                allow_redirects=False,  # another address was not given the key by anybody
                proxy=self._proxy,
            ) as response:
                if response.status // 100 != 2:
                    said = await self._read(response.content, _LARGEST_ERROR, cut=True)
                    status, headers = response.status, response.headers
                    raise failure.of_status(self.provider, status, headers, said, self._secret)
                if take and response.content_type == "text/event-stream":
                    await self._follow(response.content, take)
                    return b""
                return self._in_one_piece(await self._read(response.content, LARGEST_BODY), take)
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise self._failed(error, patience) from None

    async def _read(self, content: aiohttp.StreamReader, largest: int, *, cut: bool = False) -> bytes:
        chunks, size = [], 0
        while not content.at_eof():
            chunk = await content.readany()
            chunks.append(chunk)
            size += len(chunk)
            if size > largest:
                if cut:
                    break
                raise self._too_large(largest)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _follow(self, content: aiohttp.StreamReader, take: Take) -> None:
        """Until the end, however it comes: whether the answer is complete by then, `take` has seen."""
        events, size = EventParser(), 0
        while chunk := await _next_of(content):
            size += len(chunk)
            if size > LARGEST_STREAM:
                raise self._too_large(LARGEST_STREAM)
            if any(take(data) for data in events.feed(chunk)):
                await _drain(content)
                return
        for data in events.end():
            take(data)

    def _in_one_piece(self, body: bytes, take: Take | None) -> bytes:
        """Some servers send events under another content type."""
        if take and body.lstrip()[:6].startswith(LOOKS_LIKE_EVENTS):
            events = EventParser()
            for data in (*events.feed(body), *events.end()):
                take(data)
            return b""
        return body

    def _too_large(self, largest: int) -> ModelFailed:
        what = f"more than {largest // 1024 // 1024} MB, which was not read"
        return ModelFailed(f"{self.provider} answered 200 OK with {what}", retryable=False)

    def _failed(self, error: Exception, patience: aiohttp.ClientTimeout) -> ModelFailed:
        place = f"{self._url.host}:{self._url.port}"
        kind: FailureKind = "timeout" if isinstance(error, TimeoutError) else "unknown"
        match error:
            case aiohttp.ConnectionTimeoutError():
                text = f"could not be reached: no connection to {place} within {patience.sock_connect:g} s"
            case aiohttp.SocketTimeoutError():
                text = f"was silent for {patience.sock_read:g} s"
            case aiohttp.ClientConnectorError():
                text = f"could not be reached: no connection to {place} ({_reason(error)})"
            case aiohttp.ServerDisconnectedError():
                text = "closed the connection without an answer"
            case aiohttp.ClientPayloadError():
                return self.broken_off()
            case _:
                text = f"could not be asked ({type(error).__name__}: {error})"
        text = f"{self.provider} {failure.cleaned(text, self._secret)}"
        return ModelFailed(text, retryable=True, kind=kind)


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy that the environment asks for, by the usual variables; never one for this machine itself."""
    address = URL(url)
    host = address.host or ""
    names = [f"{address.scheme}_proxy", "all_proxy"]
    proxy = next((env[key] for name in names for key in (name, name.upper()) if env.get(key)), None)
    direct = (env.get("no_proxy") or env.get("NO_PROXY") or "").replace(" ", "").lower().split(",")
    if host in LOOPBACK or "*" in direct:
        return None
    ends = (name.lstrip("*.") for name in direct if name)
    return None if any(host == end or host.endswith(f".{end}") for end in ends) else proxy


async def _next_of(content: aiohttp.StreamReader) -> bytes:
    try:
        return await content.readany()
    except (aiohttp.ClientPayloadError, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        return b""


async def _drain(content: aiohttp.StreamReader) -> None:
    """Nothing that comes now changes the answer."""
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout(_LINGER):
            while await content.readany():
                pass


def _reason(error: aiohttp.ClientConnectorError) -> str:
    """`Connection refused` rather than the address once more; what TLS says about a certificate."""
    inner = getattr(error, "certificate_error", None) or error.os_error
    if isinstance(inner, ConnectionError) and inner.errno:
        return os.strerror(inner.errno)
    return getattr(inner, "strerror", "") or str(inner) or type(inner).__name__


LOOKS_LIKE_EVENTS = (b"data:", b"event:", b":")


class EventParser:
    """Feed it what arrives; it gives back the data of each event that is complete."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._rest.append(chunk)
            return []
        if self._rest:
            lines[0] = b"".join((*self._rest, lines[0]))
        last = lines.pop()
        self._rest = [last] if last else []
        return list(self._complete(lines))

    def end(self) -> list[bytes]:
        """What was left without its closing blank line, if it is whole: some servers leave that line out."""
        left = self._complete((b"".join(self._rest), b""))
        return [data for data in left if data.rstrip().endswith((b"}", b"]"))]

    def _complete(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
