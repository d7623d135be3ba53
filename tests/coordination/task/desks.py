"""A desk for tasks over a journal in memory: three agents, one of them the lead."""

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.task_service import AgentTasks, TaskService
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Draft, Event
from folkmoot.ports import Query


def graph() -> Graph:
    agents = (Agent("coder", "coder.ai", ""), Agent("tester", "tester.ai", ""))
    return Graph({agent.file: agent for agent in (*agents, Agent("boss", "boss.ai", "", role="lead"))})


class Moment:
    """A desk, the clock on its wall, and agents that make one call after the other."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock.monotonic)
        self.desk = TaskService(self.journal, self.clock, graph())
        self._calls = 0

    def by(self, agent: str, work_session: str = "ws_1") -> AgentTasks:
        """An agent that makes its next call."""
        self._calls += 1
        author = Author(agent, "run-1", f"0/turn:{self._calls}/call:1", work_session)
        return self.desk.of(agent, author)

    def person(self, agent: str = "") -> AgentTasks:
        return self.desk.of(agent, Author("ann"))

    async def drafts(self, id: str) -> list[Draft]:
        return [entry.draft async for entry in self.journal.read(Query(stream=id))]

    async def events(self, id: str) -> list[Event]:
        return [draft.event for draft in await self.drafts(id)]
