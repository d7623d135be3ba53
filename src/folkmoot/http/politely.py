"""Long reads in which everybody else gets a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

T = TypeVar("T")
_AT_ONCE = 100


async def politely(read: AsyncIterator[T]) -> AsyncIterator[T]:
    left = _AT_ONCE
    async for each in read:
        yield each
        left -= 1
        if not left:
            left = _AT_ONCE
            await asyncio.sleep(0)
