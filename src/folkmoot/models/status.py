"""Which answers of a server are worth another attempt."""

from __future__ import annotations

_PASSING = frozenset({408, 409, 425, 429})
_SERVER_ERRORS = 500


def is_passing(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in _PASSING or status >= _SERVER_ERRORS
