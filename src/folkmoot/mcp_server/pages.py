"""Long lists in pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

T = TypeVar("T")
SIZE = 50


def page(
    everything: Sequence[T], asked: PaginatedRequestParams | None, key: Callable[[T], str]
) -> tuple[list[T], str | None]:
    """What follows the entry that the cursor names, and the next cursor.

    An entry, not a position: what is new stands at the front, and would push others onto two pages.
    """
    start, cursor = 0, asked.cursor if asked else None
    if cursor is not None:
        places = [place for place, entry in enumerate(everything, start=1) if key(entry) == cursor]
        if not places:
            raise MCPError(INVALID_PARAMS, f"{cursor!r} is no cursor of this list")
        start = places[0]
    entries = list(everything[start : start + SIZE])
    more = start + SIZE < len(everything)
    return entries, key(entries[-1]) if more else None
