"""`web.fetch`: one page of the web as text. Only this file of the tools imports aiohttp.

An address is judged as a number, after a name was resolved; so however it is spelt, it is the same address. A request
goes to the addresses that were judged: no redirect, cookie, proxy or second look at the name.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import socket
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from folkmoot.domain.message import ToolResult
from folkmoot.domain.settings import WebLimits
from folkmoot.domain.value import Value
from folkmoot.tools.builtin.process import run_script
from folkmoot.tools.functions import Refused

REDIRECTS = 5
MOST_OF_A_FAILURE = 2_000
"""Characters: nobody reads the whole page that says that there is none."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as numbers."""
_TEXT = re.compile(r"text/.*|application/(json|xml|javascript|.*\+json|.*\+xml)")
_HTML = ("text/html", "application/xhtml+xml")
_META = re.compile(rb"""<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?([\w-]{1,40})""", re.IGNORECASE)
_NO_CHARSETS = ("idna", "punycode", "raw_unicode_escape", "unicode_escape")


async def resolve(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Web:
    def __init__(self, limits: WebLimits, resolve: Resolve = resolve) -> None:
        self._limits = limits
        self._resolve = resolve

    async def fetch(self, url: str) -> ToolResult:
        """Get a page of the web, http or https, and read its text."""
        try:
            async with asyncio.timeout(self._limits.time or None):
                return await self._told(await self._follow(url))
        except TimeoutError:
            raise Refused(f"{url} took longer than {self._limits.time:g} s") from None

    async def _follow(self, url: str) -> WebReply:
        target = parsed(url)
        for _ in range(REDIRECTS + 1):
            reply = await get(target, await self._addresses(target), self._limits.bytes)
            if not reply.location:
                return reply
            target = parsed(reply.location, target)
        raise Refused(f"{url} leads on to more than {REDIRECTS} other addresses")

    async def _addresses(self, url: URL) -> Sequence[str]:
        """Those to which the connection will be made, and to no other: a second look might find another one."""
        host = url.host or ""
        try:
            addresses = await self._resolve(host, url.port or 0)
        except (OSError, UnicodeError) as error:
            raise Refused(f"the host {host!r} cannot be found: {error}") from None
        for address in addresses:
            if why := refusal(host, address, self._limits.allow):
                raise Refused(f"{why}; `builtins.web.allow` in folkmoot.yaml could allow it")
        return addresses

    async def _told(self, reply: WebReply) -> ToolResult:
        type = reply.type or "application/octet-stream"
        text = "[this is not text; it is not shown]"
        if _TEXT.fullmatch(type):
            text = _decoded(reply)
        if type in _HTML:
            made = await run_script("page", text.encode("utf-8", "replace"), self._limits.time)
            text = made.decode("utf-8", "replace")
        more = "" if reply.whole else f", of which the first {len(reply.content):,} bytes were read"
        head = f"{reply.url}\n{reply.status} {reply.reason}, {type}{more}\n"
        if reply.status >= 400:
            return ToolResult(text=f"{head}\n{text[:MOST_OF_A_FAILURE]}", failed=True)
        return ToolResult(text=f"{head}\n{text}")


def _decoded(reply: WebReply) -> str:
    """By the charset that the server names, that the page names, or UTF-8."""
    meta = _META.search(reply.content[:2048])
    for name in (reply.charset, meta[1].decode() if meta else ""):
        with suppress(LookupError, ValueError):
            if name and codecs.lookup(name).name not in _NO_CHARSETS:
                return reply.content.decode(name, "replace")
    return reply.content.decode("utf-8", "replace")


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


Address = IPv4Address | IPv6Address

_WITHIN = tuple(
    (ip_network(network), shift)
    for network, shift in (
        ("::/96", 0),  # IPv4-compatible
        ("::ffff:0:0/96", 0),  # IPv4-mapped
        ("::ffff:0:0:0/96", 0),  # IPv4-translated
        ("64:ff9b::/96", 0),  # NAT64
        ("2002::/16", 80),  # 6to4
    )
)
"""Where an IPv4 address hides in an IPv6 one, and by how many bits from its end."""
_CLOSED = tuple(
    ip_network(each)
    for each in ("64:ff9b:1::/48", "2001::/32", "fec0::/10", "100.64.0.0/10", "192.88.99.0/24")
)
"""Not public, or leading to what is not, whatever the standard library says: local NAT64, Teredo, …"""


def refusal(host: str, address: str, allow: Sequence[str]) -> str:
    """Why this address of this host may not be asked; empty if it may."""
    if host.lower().rstrip(".") in (each.lower() for each in allow):
        return ""
    meant = [*_meant(ip_address(address.partition("%")[0]))]
    if any(each in network for each in meant for network in _networks(allow)):
        return ""
    if all(map(_public, meant)):
        return ""
    return f"{host} is at {address}, which is not a public address"


def _meant(address: Address) -> Iterator[Address]:
    """The address itself, and the one that it hides."""
    yield address
    for network, shift in _WITHIN:
        if address in network:
            yield IPv4Address(int(address) >> shift & 0xFFFF_FFFF)


def _public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and any(address in network for network, _ in _WITHIN):
        return True  # the one that it hides decides
    closed = address.is_multicast or address.is_reserved or any(address in network for network in _CLOSED)
    return address.is_global and not closed


def _networks(allow: Sequence[str]) -> Iterator[IPv4Network | IPv6Network]:
    for each in allow:
        try:
            yield ip_network(each, strict=False)
        except ValueError:
            continue
