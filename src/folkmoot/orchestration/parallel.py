"""`call_agents_parallel`: several missions at once, their results in the order of the missions."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.spans import child_span
from folkmoot.domain.value import Value
from folkmoot.orchestration.call_agent import AgentCalls
from folkmoot.orchestration.mission import read_mission, read_several
from folkmoot.orchestration.returned import Returned
from folkmoot.ports import Site

_AROUND = 128
"""Bytes around the results."""


class ReturnedTogether(Value, rename=None, omit_defaults=False):
    success: bool
    """As many succeeded as had to."""
    total: int
    succeeded: int
    failed: int
    results: list[Returned]


async def call_agents_parallel(calls: AgentCalls, call: ToolCall, site: Site) -> ToolResult:
    asked = "the arguments are not a JSON object" if call.malformed else read_several(call.arguments)
    if isinstance(asked, str):
        return ToolResult(text=asked, failed=True)
    gate = asyncio.Semaphore(asked.max_concurrency)

    async def one(number: int, given: Any) -> Returned:
        mission = read_mission(given)
        if isinstance(mission, str):
            return Returned(success=False, result=mission, session_id="", error=mission)
        async with gate:
            return await calls.fulfil(mission, child_span(site.below, "mission", number))

    results = await calls.together(one(number, given) for number, given in enumerate(asked.missions, start=1))
    succeeded = sum(returned.success for returned in results)
    together = ReturnedTogether(
        success=succeeded >= (asked.min_success or len(results)),
        total=len(results),
        succeeded=succeeded,
        failed=len(results) - succeeded,
        results=_fitted(calls, results),
    )
    return ToolResult(text=msgspec.json.encode(together).decode())


def _fitted(calls: AgentCalls, results: list[Returned]) -> list[Returned]:
    """Together they may be as long as one tool result; if they are longer, each has an equal part.

    What failed says so once: a caller must be able to read twenty failures with the tokens that are left.
    """
    results = [each if each.success else replace(each, result=UNSET) for each in results]
    room = calls.limit - _AROUND
    if len(msgspec.json.encode(results)) <= room:
        return results
    return [calls.fitted(returned, room // len(results)) for returned in results]
