"""A post from which tasks are watched: real tasks, a real journal, and agents that only write down what they are told."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from folkmoot.coordination.moot import Moot
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.task_service import AgentTasks
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunCompleted, RunFailed, RunStarted, SessionCompleted, SessionStarted
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.settings import AgentDefaults, AgentSettings, Settings, TaskContinuation
from folkmoot.domain.task import Blocking, Task
from folkmoot.engine.watch import TaskWatcher, WatchAction
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.ports import Clock, Epoch, Journal, NewRun, Query

MINUTE, HOUR = 60.0, 3_600.0
BOSS = Agent("boss", "boss.ai", "", role="lead")


def graph(settings: TaskContinuation = TaskContinuation()) -> Graph:
    agents = (
        BOSS,
        Agent("coder", "coder.ai", ""),
        Agent("tester", "tester.ai", ""),
        Agent("ops", "ops.ai", ""),
    )
    defaults = AgentDefaults(task_continuation=settings)
    return Graph({agent.file: agent for agent in agents}, Settings(agents=AgentSettings(defaults)))


class Crew:
    """Starts runs that do nothing but begin and end, as the journal tells them."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._runs = 0
        self.told: list[tuple[str, str]] = []
        """Who was told something, and about which task."""
        self.errands: list[tuple[str, Errand]] = []
        self.denied: dict[str, str] = {}
        """Agents that may not be told anything, and why."""
        self.unreachable: set[str] = set()
        self.errors: dict[str, str] = {}
        """How the runs of an agent fail."""
        self.delay = 0.0
        """Seconds until somebody who is told hears it."""
        self.meanwhile: Callable[[], Awaitable[Any]] = _nothing
        """What happens while an agent works."""

    def admit(self, agent: str, request: str) -> None:
        if agent in self.denied:
            raise WrongUse(self.denied[agent])

    async def start(self, agent: str, request: str, errand: Errand) -> None:
        if agent in self.unreachable:
            raise OperationFailed(f"{agent} cannot be reached")
        self.told.append((agent, errand.task))
        self.errands.append((request, errand))
        if self.delay:
            await self._clock.sleep(self.delay)
        await self.run(agent, errand)

    async def run(self, agent: str, errand: Errand = Errand()) -> None:
        self._runs += 1
        run = f"run-{self._runs}"
        await self._note(run, agent, RunStarted(f"{agent}.ai", "go on", "", "", errand=errand), new=True)
        await self._note(run, agent, SessionStarted(f"{agent}.ai", "go on"))
        await self.meanwhile()
        outcome = Outcome(agent, "0", report=Report(content=f"{agent} did it"))
        await self._note(run, agent, SessionCompleted(outcome))
        error = self.errors.get(agent)
        await self._note(
            run, agent, RunFailed(error=error, stop_reason="SYSTEM_ERROR") if error else RunCompleted(outcome)
        )

    async def begin(self, agent: str, errand: Errand = Errand(), run: str = "run-cut-off") -> None:
        """A run that does not end."""
        await self._note(run, agent, RunStarted(f"{agent}.ai", "go on", "", "", errand=errand), new=True)
        await self._note(run, agent, SessionStarted(f"{agent}.ai", "go on"))

    async def _note(self, run: str, agent: str, event: Event, *, new: bool = False) -> None:
        draft = Draft(self._clock.now(), event, session_id=run, span="0", agent_id=agent)
        await self._journal.append(run, NewRun(owner="here", lease=30.0) if new else Epoch(1), [draft])


class Post:
    def __init__(
        self, journal: Journal, clock: Clock, settings: TaskContinuation = TaskContinuation()
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.graph = graph(settings)
        self.crew = Crew(journal, clock)
        self.moot = Moot(journal, clock, self.graph)
        self.done: list[WatchAction] = []
        self.keeper = self.watcher()

    def watcher(self, kind: type[TaskWatcher] = TaskWatcher) -> TaskWatcher:
        """Another process, as it were: it shares nothing with the others but the journal and the agents."""
        watch = kind(Moot(self.journal, self.clock, self.graph), self.crew.admit, self.crew.start)
        watch.say = self.done.append
        return watch

    async def look(self) -> list[str]:
        """One tick of the same watcher, to its end; what came of it."""
        self.done.clear()
        await self.keeper.tick()
        await self.keeper.told()
        return [done.type for done in self.done]

    def agent(self, name: str) -> AgentTasks:
        return self.moot.tasks.of(name, Author("ann"))

    async def task(self, agent: str = "coder", text: str = "build it") -> Task:
        return await self.agent(agent).start(NewTask(text, steps=("plan", "do")), chance=f"{agent} {text}")

    async def blocked(self, *unblockers: str) -> Task:
        task = await self.task()
        return await self.agent("coder").block(Blocking("no access", unblockers, "grant access"), task.id)

    async def events(self, task: Task) -> list[Event]:
        return [entry.event async for entry in self.journal.read(Query(stream=task.id))]

    async def types(self, task: Task) -> list[str]:
        """What the watch did about it."""
        return [event.type for event in await self.events(task) if not event.type.startswith("task.")]


async def _nothing() -> None:
    await asyncio.sleep(0)
