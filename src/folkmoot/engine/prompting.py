"""What a model was sent with one request of a run, made again from the journal, which keeps no prompt twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmRequest, SessionStarted
from folkmoot.domain.message import Message
from folkmoot.engine.pins import pin_of
from folkmoot.engine.record import Record
from folkmoot.engine.rehearsal import Rehearsal
from folkmoot.engine.replay import script_of
from folkmoot.engine.stage import Script
from folkmoot.errors import NotFound, OperationFailed
from folkmoot.ports import Journal, Query, Request
from folkmoot.session.conversation import sent

_OWN = ("", "advisor", "route", "handoff", "sub")
"""Why a session runs that begins a conversation of its own, with the prompt of its file alone."""


async def prompt(journal: Journal, run_id: str, at: int) -> tuple[Message, ...]:
    """Raises `WrongUse` if the entry is no request to a model."""
    drafts = [entry.draft async for entry in journal.read(Query(stream=run_id, limit=at))]
    asked = drafts[-1].event if len(drafts) == at else None
    if not isinstance(asked, LlmRequest):
        raise NotFound(
            f"there is no request to a model at entry {at} of run {run_id!r}", code="request_not_found"
        )
    graph = msgspec.json.decode(await journal.artifact(pin_of(drafts).graph), type=Graph)
    own = [draft.event for draft in drafts if draft.session_id == drafts[-1].session_id]
    if agent := _plain(graph, drafts[-1], own[0] if at > 1 else asked):
        return sent(agent, own, asked.model)
    script = await script_of(journal, drafts)
    return await asyncio.to_thread(lambda: asyncio.run(_overheard(run_id, drafts, script, asked)))


def _plain(graph: Graph, last: Draft, first: object) -> Agent | None:
    """The agent of a session that can be folded by itself; for every other one the run must happen again."""
    alone = isinstance(first, SessionStarted) and first.cause in _OWN and "/to:" not in last.span
    return graph.agents.get(first.agent) if alone and isinstance(first, SessionStarted) else None


async def _overheard(
    run_id: str, drafts: Sequence[Draft], script: Script, asked: LlmRequest
) -> tuple[Message, ...]:
    heard: list[tuple[Message, ...]] = []
    wanted = (drafts[-1].session_id, asked.turn, asked.attempt)

    def overhear(request: Request) -> None:
        if (request.session, request.turn, request.attempt) == wanted:
            heard.append(request.messages)

    await Rehearsal(run_id, Record(drafts), replace(script, overhear=overhear)).to_its_end()
    if not heard:
        raise OperationFailed(
            f"this request cannot be made again from the journal; `folkmoot runs replay {run_id}` says why"
        )
    return heard[-1]
