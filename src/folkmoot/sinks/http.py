"""Sinks that send to an address: one request and what can go wrong with it as `SinkFailed`; and signed JSON.

An address may itself be a secret, so only its host is ever told. Nothing is followed to another one.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256

import aiohttp
import msgspec
from yarl import URL

from folkmoot.domain.entry import Entry
from folkmoot.errors import SinkFailed
from folkmoot.ports import Clock

PATIENCE = 30.0
"""Seconds for one request."""
WAIT = 5.0
"""Seconds, for a sink that says that it was asked too often, but not how long to wait."""
_LARGEST = 1024 * 1024


class HttpSink:
    """Sends to one address; its connection is kept."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.url = URL(url)
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def _send(self, method: str, url: URL, body: bytes, headers: Mapping[str, str] = {}) -> bytes:
        """The answer to JSON."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trust_env=True)
        headers = {"Content-Type": "application/json", "User-Agent": "folkmoot", **headers}
        try:
            return await self._clock.within(PATIENCE, self._sent(self._session, method, url, body, headers))
        except TimeoutError:
            raise SinkFailed(f"{self.url.host} did not answer within {PATIENCE:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise SinkFailed(f"{self.url.host} could not be reached ({reason(error)})") from None

    async def _sent(
        self, session: aiohttp.ClientSession, method: str, url: URL, body: bytes, headers: Mapping[str, str]
    ) -> bytes:
        async with session.request(method, url, data=body, headers=headers, allow_redirects=False) as answer:
            said = await answer.content.read(_LARGEST)
            if answer.status // 100 == 2:
                return said
            wait = asked_wait(answer.headers, said) if answer.status == 429 else None
            raise SinkFailed(f"{self.url.host} answered {answer.status}", status=answer.status, wait=wait)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def reason(error: Exception) -> str:
    """`Connection refused` rather than the address once more."""
    inner: BaseException | None = getattr(error, "os_error", error)
    while inner:
        if (number := getattr(inner, "errno", None)) and number > 0:
            return os.strerror(number)
        inner = inner.__context__
    return type(error).__name__


class _Limited(msgspec.Struct):
    retry_after: float


def asked_wait(headers: Mapping[str, str], said: bytes) -> float:
    """The body is the more exact one."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(said, type=_Limited).retry_after
    with suppress(ValueError):
        return float(headers.get("Retry-After", WAIT))
    return WAIT


class WebhookSink(HttpSink):
    def __init__(self, url: str, key: str, clock: Clock, line: Callable[[Entry], bytes]) -> None:
        """`line` writes an entry out."""
        super().__init__(url, clock)
        self._key = key.encode()
        self._line = line

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        body = b'{"events":[%b]}' % b",".join(self._line(entry).rstrip(b"\n") for entry in entries)
        ids = "\n".join(entry.id for entry in entries)
        headers = {"X-Folkmoot-Delivery": sha256(ids.encode()).hexdigest()[:32]}
        moment = str(int(datetime.fromisoformat(self._clock.now()).timestamp()))
        headers["X-Folkmoot-Timestamp"] = moment
        if self._key:
            headers["X-Folkmoot-Signature"] = f"sha256={signature(self._key, moment, body)}"
        await self._send("POST", self.url, body, headers)
        return kept


def signature(key: bytes, moment: str, body: bytes) -> str:
    return hmac.new(key, moment.encode() + b"." + body, sha256).hexdigest()
