"""How much one client may ask of this server, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    body: int = 1_000_000
    """Bytes of a request."""
    chat_body: int = 32_000_000
    """The same for chat clients, which repeat their whole conversation with its pictures."""
    bodies: int = 500_000_000
    """Bytes of all requests together that are being answered."""
    head: int = 32_768
    """Bytes of a request's first line and headers together."""
    headers: int = 100
    head_time: float = 10.0
    """Seconds in which a request's headers must be there, however many bytes come meanwhile."""
    body_time: float = 60.0
    """Seconds in which the rest of it must be."""
    idle: int = 15
    """Seconds for which a connection stays open without a request."""
    connections: int = 2_500
    connections_each: int = 1_500
    """From one address."""
    message: int = 65_536
    """Bytes of one WebSocket message."""
    messages: int = 50
    """WebSocket frames in a second, of whatever kind."""
