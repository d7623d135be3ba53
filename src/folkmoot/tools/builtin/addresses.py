"""Which addresses an agent may ask: public ones, and those that the settings allow. Pure.

An address is judged as a number, after a name was resolved; so however it is spelt, it is the same address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

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
