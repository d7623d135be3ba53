"""One request over HTTP to addresses that were chosen before; no redirect, cookie, proxy or second look at the name.

Only this file of the tools imports aiohttp.
"""

from __future__ import annotations

import socket
import zlib
from collections.abc import Sequence

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from folkmoot.domain.value import Value
from folkmoot.tools.builtin.refused import Refused

HEADERS = {
    "User-Agent": "folkmoot",
    "Accept": "text/*, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",
}
_MOVED = (301, 302, 303, 307, 308)
_GZIP_OR_ZLIB = 47


class WebReply(Value):
    url: str
    status: int
    reason: str
    type: str
    charset: str
    content: bytes
    whole: bool
    """False: there is more, which was not read."""
    location: str = ""
    """Where it says to go instead."""


def parsed(url: str, base: URL | None = None) -> URL:
    """The address that is asked. Raises `Refused` for anything but http and https."""
    try:
        target = base.join(URL(url)) if base else URL(url)
        port = target.port
    except ValueError as error:
        raise Refused(f"{url!r} is no address: {error}") from None
    if target.scheme not in ("http", "https") or not target.host or not port:
        raise Refused(f"{url!r} cannot be fetched; an address begins with http:// or https://")
    if target.user is not None or target.password is not None:
        raise Refused("an address with a user or a password in it is not fetched; take them out")
    return target


async def get(url: URL, addresses: Sequence[str], largest: int) -> WebReply:
    connector = aiohttp.TCPConnector(
        resolver=_PinnedResolver(addresses), use_dns_cache=False, force_close=True
    )
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
    ) as session:
        try:
            async with session.get(url, allow_redirects=False, headers=HEADERS) as response:
                location = response.headers.get("Location", "") if response.status in _MOVED else ""
                content, whole = (b"", True) if location else await _body(response, largest)
                return WebReply(
                    url=str(url),
                    status=response.status,
                    reason=response.reason or "",
                    type=response.content_type.lower(),
                    charset=response.charset or "",
                    content=content,
                    whole=whole,
                    location=location,
                )
        except (aiohttp.ClientError, zlib.error, ValueError) as error:
            raise Refused(f"{url} cannot be fetched: {error or type(error).__name__}") from None


async def _body(response: aiohttp.ClientResponse, largest: int) -> tuple[bytes, bool]:
    """At most `largest` bytes, counted after unpacking: a small reply can unpack to anything."""
    coding = response.headers.get("Content-Encoding", "identity").lower()
    if coding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise Refused(f"{response.url} came packed as {coding}, which was not asked for")
    unpack = None if coding == "identity" else zlib.decompressobj(_GZIP_OR_ZLIB)
    content = bytearray()
    async for piece in response.content.iter_chunked(65_536):
        room = largest + 1 - len(content)
        content += unpack.decompress(piece, room) if unpack else piece[:room]
        if len(content) > largest:
            return bytes(content[:largest]), False
    return bytes(content), unpack is None or unpack.eof


class _PinnedResolver(AbstractResolver):
    """Knows the addresses that were judged, and no way to ask for others."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        return None
