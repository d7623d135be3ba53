"""A chat with an agent: what a person asked and what came back, run by run, in one work session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunStarted, ToolStarted
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value
from folkmoot.views.result import Result

REMEMBERED = 20
"""Exchanges that an agent is told again with the next request."""


class Exchange(Value):
    run_id: str
    agent: str
    """The file of the agent that was asked."""
    answered_by: str
    request: str
    at: str
    status: str
    answer: str = ""
    error: str = ""
    tools: tuple[str, ...] = ()
    """What was called for it, by name, each once."""
    waiting: tuple[str, ...] = ()
    """The ids of what it waits for someone to say."""
    sources: Sources = ()
    """What was read for the answer."""

    @property
    def under_way(self) -> bool:
        return self.status in ("running", "queued")


def exchange(run_id: str, drafts: Sequence[Draft], unended: str) -> Exchange | None:
    """`unended` is what the run is as long as it has no end; None if nothing is left of it."""
    started = next((draft for draft in drafts if isinstance(draft.event, RunStarted)), None)
    if started is None or not isinstance(started.event, RunStarted):
        return None
    result = Result(run_id, drafts, unended=unended)
    tools = dict.fromkeys(draft.event.tool for draft in drafts if isinstance(draft.event, ToolStarted))
    return Exchange(
        run_id,
        started.event.agent,
        answered_by=result.final_agent_id or started.agent_id,
        request=started.event.request,
        at=started.ts,
        status=result.status,
        answer=result.final_report.content if result.final_report else "",
        error=result.error or "",
        tools=tuple(tools),
        waiting=tuple(item.id for item in result.inbox if item.is_open),
        sources=result.sources,
    )


def said_before(exchanges: Iterable[Exchange]) -> tuple[Block, ...]:
    """What an agent reads of a conversation that goes on."""
    blocks: list[Block] = []
    for each in list(exchanges)[-REMEMBERED:]:
        blocks.append(Block("earlier_request", each.request))
        if each.answer:
            blocks.append(Block("earlier_answer", each.answer, each.answered_by, sources=each.sources))
    return tuple(blocks)
