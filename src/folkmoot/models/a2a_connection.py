"""The way to a remote agent: its card, the official client for it, and what can go wrong as `ModelFailed`."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import cast

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import AgentCard
from a2a.utils.errors import A2AError, InternalError
from yarl import URL

from folkmoot.errors import FailureKind, ModelFailed
from folkmoot.models.failure import cleaned, of_status

_CONNECT, _SILENCE = 15.0, 180.0
_BINDINGS = ["JSONRPC", "HTTP+JSON"]
_NOT_LET_IN = (401, 403)


class RemoteConnection:
    def __init__(self, name: str, url: str, token: str = "", proxy: str | None = None) -> None:
        self.name = name
        self._url = URL(url.rstrip("/"))
        self._token = token
        self._proxy = proxy
        self._http: httpx.AsyncClient | None = None
        self._client: Client | None = None
        self.about = ""
        """What its card says it is, as soon as that was read."""

    async def client(self) -> Client:
        """Made with the first request. Its card is believed only as far as it leads to the declared host."""
        if self._client is None:
            http = self._http = self._http or self._opened()
            card = await A2ACardResolver(http, str(self._url)).get_agent_card()
            self._narrow(card)
            self.about = cleaned(f"{card.name}: {card.description}", self._token)
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=_BINDINGS)
            self._client = ClientFactory(config).create(card)
        return self._client

    async def aclose(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http:
            await http.aclose()

    @contextmanager
    def failures(self) -> Iterator[None]:
        try:
            yield
        except A2AError as error:
            raise self._failed(error) from None
        except ValueError as error:  # a card without a way that both know
            text = f"{self.name} cannot be asked: {cleaned(str(error), self._token)}"
            raise ModelFailed(text, retryable=False) from None

    def _narrow(self, card: AgentCard) -> None:
        offered = list(card.supported_interfaces)
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(each for each in offered if _origin(each.url) == self._url.origin())
        if not card.supported_interfaces:
            named = ", ".join(each.url for each in offered) or "nowhere"
            raise ModelFailed(
                f"{self.name} is asked elsewhere, says its card at {self._url}: {cleaned(named, self._token)};"
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
                f"{self.name} could not be reached at {self._url}: {why}", retryable=True, kind=kind
            )
        said = f"{self.name} could not be asked: {cleaned(str(error), self._token)}"
        return ModelFailed(said, retryable=isinstance(error, InternalError))

    def _refused(self, answer: httpx.Response) -> ModelFailed:
        status = answer.status_code
        failed = of_status(self.name, status, answer.headers, answer.content, self._token)
        if status not in _NOT_LET_IN:
            return failed
        wants = (
            "does not take the token that `apiKeyEnv` names" if self._token else "wants a token: `apiKeyEnv`"
        )
        return ModelFailed(f"{failed}; it {wants}", retryable=False, status=status)


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
