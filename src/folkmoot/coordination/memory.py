"""What agents note for later runs: one record for each agent, which others read only if its file lets them."""

from __future__ import annotations

from folkmoot.coordination.record_store import Author, RecordStore
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft
from folkmoot.domain.records import Kind, MemoryNoted
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value
from folkmoot.errors import NotFound, WrongUse
from folkmoot.ports import Clock, Journal

LONGEST = 4_000
"""Characters of a note: a memory is no store for documents."""


class Note(Value):
    at: str
    text: str


class Notes(Value):
    """All that an agent noted, in order."""

    agent: str
    notes: tuple[Note, ...] = ()


def evolve(notes: Notes | None, draft: Draft) -> Notes:
    before = notes.notes if notes else ()
    assert isinstance(draft.event, MemoryNoted)
    return Notes(draft.agent_id, (*before, Note(draft.ts, draft.event.text)))


MEMORY: Kind[Notes] = Kind("memory", "memory_", "", evolve)


class Memories(RecordStore[Notes]):
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        super().__init__(MEMORY, journal, clock)
        self._graph = graph

    async def note(self, author: Author, text: str) -> Notes:
        """Into the author's own memory. Raises `WrongUse` for a text that is empty or too long."""
        if not text.strip():
            raise WrongUse("there is nothing to note; give a text")
        if len(text) > LONGEST:
            raise WrongUse(f"a note has at most {LONGEST} characters, not {len(text)}; note what matters")
        return await self.write(self._stream(author.name), author, lambda _: [MemoryNoted(text)])

    async def read(self, reader: str, agent: str) -> Notes:
        """Raises `WrongUse` if the agent's file does not let the reader."""
        self._check(reader, agent)
        return await self.look_up(self._stream(agent)) or Notes(agent)

    def _check(self, reader: str, agent: str) -> None:
        """Agents of different folders may share an id, and then a memory; each of them must agree."""
        if agent == reader:
            return
        owners = [owner for owner in self._graph.agents.values() if owner.id == agent]
        if not owners:
            known = ", ".join(sorted({owner.id for owner in self._graph.agents.values()}))
            raise NotFound(f"there is no agent {agent!r}; there are: {known}", code="agent_not_found")
        for owner in owners:
            if not {reader, "*"} & {*owner.memory.readers}:
                raise WrongUse(
                    f"{reader!r} may not read the memory of {agent!r}: `memory.readers` in {owner.file} must name it"
                )

    async def read_for(self, agent: str) -> Sources:
        """What the agent had read when it noted something."""
        return await self.sources([self._stream(agent)])

    def _stream(self, agent: str) -> str:
        return f"{MEMORY.prefix}{agent}"
