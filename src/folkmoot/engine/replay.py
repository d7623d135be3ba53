"""A run again, from its journal: the same code, with the recorded answers, results, words and stops.

Whatever came from outside then (an answer, a result, a person's word, a cancellation) comes again when everything
that stands before it in the journal has happened again. Everything else the code must do by itself, and the record
watches whether it is the same. Nothing is asked, called or written anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS, RunParked, RunStarted
from folkmoot.domain.fork_events import RunRepinned
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.value import Value
from folkmoot.engine.past import whole_past
from folkmoot.engine.record import Record, state_hash, told_of
from folkmoot.engine.rehearsal import Rehearsal
from folkmoot.engine.stage import Script
from folkmoot.errors import OperationFailed
from folkmoot.journal.codec import data_of
from folkmoot.ports import Journal

_HASH = re.compile(rb"\b[0-9a-f]{64}\b")


class Replayed(Value, omit_defaults=False):
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


async def replay(journal: Journal, run_id: str) -> Replayed:
    """Raises `WrongUse` for a run that does not exist or was recorded without what is needed to replay it."""
    drafts = await whole_past(journal, run_id)
    record = Record(drafts)
    await Rehearsal(run_id, record, await script_of(journal, drafts)).to_its_end()
    hashed = state_hash(record.again)
    return Replayed(
        run_id=run_id,
        events=len(record.again),
        recorded=len(drafts),
        state_hash=hashed,
        equal=not record.divergence and hashed == state_hash(drafts),
        divergence=record.divergence,
        ends=_where_it_ends(drafts),
    )


async def script_of(journal: Journal, drafts: Sequence[Draft]) -> Script:
    """Read beforehand, because a replay waits for nothing."""
    pins = [draft.event for draft in drafts if isinstance(draft.event, RunStarted | RunRepinned)]
    graphs = {pin.graph: msgspec.json.decode(await journal.artifact(pin.graph), type=Graph) for pin in pins}
    tools = {pin.tools: await _tools(journal, pin.tools, graphs[pin.graph]) for pin in pins}
    kept = {}
    for id in sorted({id.decode() for draft in drafts for id in _HASH.findall(data_of(draft))}):
        with suppress(
            KeyError
        ):  # the hash of something else, or no longer there; then the replay says what differs
            kept[id] = await journal.artifact(id)
    return Script(graphs, tools, kept)


async def _tools(journal: Journal, id: str, graph: Graph) -> Mapping[str, ToolSpec]:
    if id:
        return msgspec.json.decode(await journal.artifact(id), type=dict[str, ToolSpec])
    if any(agent.tools for agent in graph.agents.values()):
        raise OperationFailed("this run was recorded without what its tools are, so it cannot be replayed")
    return {}


def _where_it_ends(drafts: Sequence[Draft]) -> str:
    last = drafts[-1]
    if isinstance(last.event, RUN_ENDS):
        return ""
    if isinstance(last.event, RunParked):
        return f"it waits for {', '.join(last.event.waiting)}"
    return f"the record ends after entry {len(drafts)}: at {last.span} {told_of(last)}"
