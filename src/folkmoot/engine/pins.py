"""The files that a run goes on with: those it was started with, until somebody wants the present ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RouterSelected, RunBound, RunStarted, SessionStarted
from folkmoot.domain.fork_events import RunRepinned
from folkmoot.domain.team_events import TeamStarted
from folkmoot.engine.activation import Project
from folkmoot.engine.past import whole_past
from folkmoot.errors import WrongUse
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.ports import Journal, Query


def pin_of(past: Sequence[Draft]) -> RunStarted | RunRepinned:
    """What the run is pinned to now."""
    pins = [draft.event for draft in past if isinstance(draft.event, RunStarted | RunRepinned)]
    return pins[-1]


async def pinned_graph(journal: Journal, run_id: str) -> Graph:
    """The project as a run is pinned to it. Raises `WrongUse` if there is no such run."""
    types = (RunStarted.type, RunRepinned.type)
    pins = [entry.draft async for entry in journal.read(Query(stream=run_id, types=types))]
    pin = pin_of(pins or await whole_past(journal, run_id))
    return msgspec.json.decode(await journal.artifact(pin.graph), type=Graph)


def bound_to(past: Sequence[Draft]) -> str:
    """The label of the place where the run's working folder is; empty if it has used none."""
    return next((draft.event.label for draft in past if isinstance(draft.event, RunBound)), "")


def check_fit(past: Sequence[Draft], new: Graph) -> None:
    """Raises `WrongUse` with everything that has begun and does not fit these files."""
    if unfit := list(_unfit(past, new)):
        listed = "".join(f"\n  - {each}" for each in dict.fromkeys(unfit))
        remedy = "resume it without --with-current-files, or start it anew"
        raise WrongUse(f"this run cannot go on with the present files:{listed}\n{remedy}")


def repin(log: RunLog, old: Project, new: Project) -> Project:
    """Let a run go on with other files, and say so in its journal."""
    ours, theirs = old.graph.agents, new.graph.agents
    different = (file for file in {**ours, **theirs} if ours.get(file) != theirs.get(file))
    root = log.drafts[0]
    event = RunRepinned(new.graph_id, new.tools_id, tuple(sorted(different)))
    log.note(Place(root.span, root.session_id, root.agent_id), event)
    return new


def _unfit(past: Sequence[Draft], new: Graph) -> Iterator[str]:
    """What began and has no place in the new files."""
    ids = {agent.id: agent for agent in new.agents.values()}
    started = past[0].event
    files = [started.agent] if isinstance(started, RunStarted) else []
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
