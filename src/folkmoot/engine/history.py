"""Reads what is recorded of a run, and the files that it goes on with: those it was started with, until somebody wants
the present ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from folkmoot.domain.agent import Graph
from folkmoot.domain.call_events import RouterSelected
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import RunPruned, RunRepinned, RunStarted, SessionStarted
from folkmoot.domain.team_events import TeamStarted
from folkmoot.engine.activation import Project
from folkmoot.errors import Conflict, NotFound, WrongUse
from folkmoot.orchestration.history import RunHistory
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.ports import Journal, Query, Version


async def last_entry(journal: Journal, stream: str = "", *types: str) -> Entry | None:
    """Of a stream, or of the whole journal."""
    async for entry in journal.read(Query(stream=stream, types=types, newest_first=True, limit=1)):
        return entry
    return None


async def append_last(journal: Journal, stream: str, draft: Draft) -> None:
    """At the end of a stream that others write to as well."""
    while True:
        last = await last_entry(journal, stream)
        with suppress(Conflict):
            await journal.append(stream, Version(last.run_seq if last else 0), [draft])
            return


async def read_history(journal: Journal, run_id: str) -> RunHistory:
    """What is recorded of a run. Raises `WrongUse` if there is no such run."""
    history = RunHistory([entry.draft async for entry in journal.read(Query(stream=run_id))])
    if not history:
        raise NotFound(
            f"there is no run {run_id!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return history


async def read_whole_history(journal: Journal, run_id: str) -> RunHistory:
    """From its beginning. Raises `WrongUse` also if only its tombstone is left."""
    history = await read_history(journal, run_id)
    if isinstance(history.last, RunPruned):
        raise WrongUse(f"run {run_id!r} was pruned: what happened in it is gone")
    return history


async def pinned_graph(journal: Journal, run_id: str) -> Graph:
    """The project as a run is pinned to it. Raises `WrongUse` if there is no such run."""
    types = (RunStarted.type, RunRepinned.type)
    pinned = RunHistory([entry.draft async for entry in journal.read(Query(stream=run_id, types=types))])
    pin = (pinned or await read_whole_history(journal, run_id)).pins[-1]
    return msgspec.json.decode(await journal.artifact(pin.graph), type=Graph)


def check_fit(past: Iterable[Draft], new: Graph) -> None:
    """Raises `WrongUse` with everything that has begun and does not fit these files."""
    if unfit := list(_unfit(RunHistory(past), new)):
        listed = "".join(f"\n  - {each}" for each in dict.fromkeys(unfit))
        remedy = "resume it without --with-current-files, or start it anew"
        raise WrongUse(f"this run cannot go on with the present files:{listed}\n{remedy}")


def repin(log: RunLog, old: Project, new: Project) -> Project:
    """Let a run go on with other files, and say so in its journal."""
    ours, theirs = old.graph.agents, new.graph.agents
    different = (file for file in {**ours, **theirs} if ours.get(file) != theirs.get(file))
    event = RunRepinned(new.graph_id, new.tools_id, tuple(sorted(different)))
    log.note(Place.of(log.drafts[0]), event)
    return new


def _unfit(past: RunHistory, new: Graph) -> Iterator[str]:
    """What began and has no place in the new files."""
    ids = {agent.id: agent for agent in new.agents.values()}
    files = [past.started.agent]
    files += [draft.event.agent for draft in past if isinstance(draft.event, SessionStarted)]
    for file in dict.fromkeys(files):
        own = file.partition("#")[0]  # an agent made at run time is named after the one that made it
        if own and own not in new.agents:
            yield f"{file} has begun, and there is no such agent any more"
    for draft in past:
        agent = ids.get(draft.agent_id)
        match draft.event:
            case RouterSelected(agent=chosen) if agent:
                targets = [new.agents[file].id for file in agent.destinations]
                if chosen not in targets:
                    yield f"{agent.file} has routed to {chosen}, which is no destination of it any more"
            case TeamStarted(members=members) if agent:
                seats = agent.team.members if agent.team else ()
                if tuple(new.agents[file].id for file in seats) != members:
                    yield f"the team of {agent.file} has begun, and has other members now"
            case _:
                pass
