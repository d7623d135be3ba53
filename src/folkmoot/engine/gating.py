"""Take tools from one session of a run and give them back, for a person or a program, whoever holds the run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import SESSION_ENDS, SessionStarted
from folkmoot.domain.gate_events import GateChanged
from folkmoot.domain.naming import ALIASES, wire_name
from folkmoot.engine.kept import park_again
from folkmoot.engine.pins import pinned_graph
from folkmoot.errors import NotFound, WrongUse
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.ports import Journal

GATE = "gate"
"""The kind of a post that asks for it."""


def place_of(past: Sequence[Draft], session: str) -> Place:
    """Where a session stands that goes on. Raises `WrongUse` for one that has ended or never was."""
    place = None
    for draft in past:
        if draft.session_id == session and isinstance(draft.event, SessionStarted):
            place = Place(draft.span, draft.session_id, draft.agent_id)
        elif draft.session_id == session and isinstance(draft.event, SESSION_ENDS):
            raise WrongUse(f"session {session!r} has ended; there is nothing to gate in it any more")
    if place is None:
        raise NotFound(
            f"there is no session {session!r}; `folkmoot sessions list` shows those that are",
            code="session_not_found",
        )
    return place


def gate_live(run: Run, change: GateChanged) -> None:
    run.inbox.tell(place_of(run.log.drafts, change.session), change)


def take_in(run: Run, post: str) -> None:
    """As another process wishes; the session may have ended meanwhile."""
    change = msgspec.json.decode(post, type=GateChanged)
    try:
        gate_live(run, change)
    except WrongUse:
        return


async def gate_unheld(log: RunLog, change: GateChanged) -> None:
    """In a run that nobody runs now; one that waits goes on waiting for the same."""
    last = log.drafts[-1]
    log.note(place_of(log.drafts, change.session), change)
    park_again(log, last)
    await log.settle()


def is_told(past: Sequence[Draft], change: GateChanged) -> bool:
    """Whether whoever holds the run has heard of it, or the session has ended before."""
    session = [draft.event for draft in past if draft.session_id == change.session]
    return change in session or any(isinstance(event, SESSION_ENDS) for event in session)


async def named_by_run(journal: Journal, run_id: str, change: GateChanged) -> GateChanged:
    """With tools of ours by their own names, unless the run has tools of its project by the names that were given."""
    if ALIASES.keys().isdisjoint((*change.gated, *change.freed)):
        return change
    graph = await pinned_graph(journal, run_id)
    gated, freed = (
        tuple(wire_name(graph.tool_name(name)) for name in names) for names in (change.gated, change.freed)
    )
    return replace(change, gated=gated, freed=freed)
