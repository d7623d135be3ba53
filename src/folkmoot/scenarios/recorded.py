"""The recorded run of a scenario: its answers and results come again, with the files of the project as they are now."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from folkmoot.domain.agent import Graph
from folkmoot.domain.artifacts import named_by
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunStarted
from folkmoot.engine.identity import Identity
from folkmoot.errors import WrongUse
from folkmoot.journal.codec import to_entry
from folkmoot.journal.source import open_source
from folkmoot.models.recorded import RecordedModel, at_once
from folkmoot.ports import Query
from folkmoot.tools.recorded import RecordedTools


@dataclass(frozen=True)
class Recorded:
    identity: Identity
    """With the same name and seed everything in the run is called as it was then."""
    drafts: list[Draft]
    whole: dict[str, bytes]

    def model(self) -> RecordedModel:
        return RecordedModel(self.drafts)

    def tools(self, graph: Graph) -> RecordedTools:
        longest = max(agent.tuning.tool_response_max_bytes for agent in graph.agents.values())
        return RecordedTools({}, self.drafts, self.whole, at_once, longest + 1)


async def read_recorded(path: Path) -> Recorded:
    """Raises `WrongUse` for a file that does not hold just one run."""
    source = open_source(path)
    try:
        entries = [to_entry(stored) async for stored in source.stored(Query())]
        started = [(each.stream, each.event) for each in entries if isinstance(each.event, RunStarted)]
        if len(started) != 1:
            raise WrongUse(f"{path} holds {len(started)} runs; `folkmoot log export RUN` writes one")
        run, event = started[0]
        drafts = [entry.draft for entry in entries if entry.stream == run]
        whole: dict[str, bytes] = {}
        for id in {id for draft in drafts for id in named_by(draft.event)}:
            with suppress(KeyError):  # an exported log names artifacts and holds none
                whole[id] = await source.artifact(id)
        return Recorded(Identity(run, event.seed), drafts, whole)
    finally:
        await source.close()
