"""`web.fetch`: one page of the web as text.

An address is judged as a number, after a name was resolved; so however it is spelt, it is the same address.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from folkmoot.domain.message import ToolResult
from folkmoot.domain.settings import WebLimits
from folkmoot.tools.builtin.process import run_script
from folkmoot.tools.builtin.refused import Refused

if TYPE_CHECKING:
    from yarl import URL

    from folkmoot.tools.builtin.hop import WebReply


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
        # aiohttp takes its time to be imported, and most runs fetch nothing.
        from folkmoot.tools.builtin.hop import get, parsed

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
            made = await run_script("page.py", text.encode("utf-8", "replace"), self._limits.time)
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
