"""A run again, from its journal: the same code, with the recorded answers, results, words and stops.

Whatever came from outside then (an answer, a result, a person's word, a cancellation) comes again when everything
that stands before it in the journal has happened again. Everything else the code must do by itself, and the record
watches whether it is the same. Nothing is asked, called or written anywhere. What a model was sent with one request is
made again in the same way (`prompt`): the journal keeps no prompt twice.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmRequest, RunParked, SessionStarted
from folkmoot.domain.message import Message, ToolSpec
from folkmoot.domain.value import Value
from folkmoot.engine.history import read_whole_history
from folkmoot.engine.record import ReplayRecord, describe_draft, state_hash
from folkmoot.engine.replayer import Replayer, ReplayScript
from folkmoot.errors import NotFound, OperationFailed
from folkmoot.journal.codec import data_of
from folkmoot.orchestration.history import RunHistory
from folkmoot.ports import Journal, Query, Request
from folkmoot.session.record import sent

_HASH = re.compile(rb"\b[0-9a-f]{64}\b")


class ReplayResult(Value, omit_defaults=False):
    run_id: str
    events: int
    """How many happened again."""
    recorded: int
    state_hash: str
    """Over all that happened in every span: of what happened now, and, if it is equal, of the record too."""
    equal: bool
    divergence: str = ""
    """The first thing that happened otherwise, in words."""
    ends: str = ""
    """Where the record ends, if the run had not ended there."""


async def replay_run(journal: Journal, run_id: str) -> ReplayResult:
    """Raises `WrongUse` for a run that does not exist or was recorded without what is needed to replay it."""
    drafts = await read_whole_history(journal, run_id)
    record = ReplayRecord(drafts)
    await Replayer(run_id, record, await read_replay_script(journal, drafts)).to_its_end()
    hashed = state_hash(record.again)
    return ReplayResult(
        run_id=run_id,
        events=len(record.again),
        recorded=len(drafts),
        state_hash=hashed,
        equal=not record.divergence and hashed == state_hash(drafts),
        divergence=record.divergence,
        ends=_describe_end(drafts),
    )


async def read_replay_script(journal: Journal, drafts: RunHistory) -> ReplayScript:
    """Read beforehand, because a replay waits for nothing."""
    pins = drafts.pins
    graphs = {pin.graph: msgspec.json.decode(await journal.artifact(pin.graph), type=Graph) for pin in pins}
    tools = {pin.tools: await _read_tools(journal, pin.tools, graphs[pin.graph]) for pin in pins}
    kept = {}
    for id in sorted({id.decode() for draft in drafts for id in _HASH.findall(data_of(draft))}):
        with suppress(
            KeyError
        ):  # the hash of something else, or no longer there; then the replay says what differs
            kept[id] = await journal.artifact(id)
    return ReplayScript(graphs, tools, kept)


async def _read_tools(journal: Journal, id: str, graph: Graph) -> Mapping[str, ToolSpec]:
    if id:
        return msgspec.json.decode(await journal.artifact(id), type=dict[str, ToolSpec])
    if any(agent.tools for agent in graph.agents.values()):
        raise OperationFailed("this run was recorded without what its tools are, so it cannot be replayed")
    return {}


def _describe_end(drafts: RunHistory) -> str:
    last = drafts[-1]
    if drafts.is_over:
        return ""
    if isinstance(last.event, RunParked):
        return f"it waits for {', '.join(last.event.waiting)}"
    return f"the record ends after entry {len(drafts)}: at {last.span} {describe_draft(last)}"


_OWN = ("", "advisor", "route", "handoff", "sub")
"""Why a session runs that begins a conversation of its own, with the prompt of its file alone."""


async def rebuild_prompt(journal: Journal, run_id: str, at: int) -> tuple[Message, ...]:
    """Raises `WrongUse` if the entry is no request to a model."""
    drafts = RunHistory([entry.draft async for entry in journal.read(Query(stream=run_id, limit=at))])
    asked = drafts[-1].event if len(drafts) == at else None
    if not isinstance(asked, LlmRequest):
        raise NotFound(
            f"there is no request to a model at entry {at} of run {run_id!r}", code="request_not_found"
        )
    graph = msgspec.json.decode(await journal.artifact(drafts.pins[-1].graph), type=Graph)
    own = [draft.event for draft in drafts if draft.session_id == drafts[-1].session_id]
    if agent := _find_simple_agent(graph, drafts[-1], own[0] if at > 1 else asked):
        return sent(agent, own, asked.model)
    script = await read_replay_script(journal, drafts)
    return await asyncio.to_thread(lambda: asyncio.run(_replay_prompt(run_id, drafts, script, asked)))


def _find_simple_agent(graph: Graph, last: Draft, first: object) -> Agent | None:
    """The agent of a session that can be folded by itself; for every other one the run must happen again."""
    alone = isinstance(first, SessionStarted) and first.cause in _OWN and "/to:" not in last.span
    return graph.agents.get(first.agent) if alone and isinstance(first, SessionStarted) else None


async def _replay_prompt(
    run_id: str, drafts: RunHistory, script: ReplayScript, asked: LlmRequest
) -> tuple[Message, ...]:
    heard: list[tuple[Message, ...]] = []
    wanted = (drafts[-1].session_id, asked.turn, asked.attempt)

    def overhear(request: Request) -> None:
        if (request.session, request.turn, request.attempt) == wanted:
            heard.append(request.messages)

    await Replayer(run_id, ReplayRecord(drafts), replace(script, overhear=overhear)).to_its_end()
    if not heard:
        raise OperationFailed(
            f"this request cannot be made again from the journal; `folkmoot runs replay {run_id}` says why"
        )
    return heard[-1]
