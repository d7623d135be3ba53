"""The tasks of a project: whoever changes one does it here, agents by their tools, people at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from folkmoot.coordination import tasks
from folkmoot.coordination.record_store import Author, RecordStore
from folkmoot.coordination.task_lists import busy, by_priority, current, next_pick
from folkmoot.coordination.tasks import NewTask, Stepping
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import own_work_session
from folkmoot.domain.records import TASK
from folkmoot.domain.task import Blocking, Task, TaskBacklogAdded, TaskStarted, TaskStatus
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery

_START = "start one (task_start) or pick one from the backlog (task_pick_backlog)"


class TaskService(RecordStore[Task]):
    """All tasks of a project."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        super().__init__(TASK, journal, clock)
        self.clock = clock
        self.agents = frozenset(agent.id for agent in graph.agents.values())
        self.leads = frozenset(agent.id for agent in graph.agents.values() if agent.role == "lead")

    def work_session_of(self, record: Task) -> str:
        return record.work_session_id

    def of(self, agent: str, by: Author) -> AgentTasks:
        """The tasks of an agent, in the hands of that agent or of a person who acts for it."""
        if agent and not by.is_agent:
            tasks.known(agent, self.agents)
        return AgentTasks(self, agent, by)


class AgentTasks:
    """What one agent, or a person for it, may do. Where a task may be left out, the agent's current one is meant."""

    def __init__(self, service: TaskService, agent: str, by: Author) -> None:
        self._all = service
        self._agent = agent
        self._by = by

    async def start(self, new: NewTask, chance: str = "") -> Task:
        """`chance` names the task where no call does; see `Author.new_id`."""
        task = tasks.started(new, self._bare(chance))
        return await self._create(task, TaskStarted(task))

    async def add(self, new: NewTask, chance: str = "") -> Task:
        """Into the backlog, of this agent or of another."""
        missing = [id for id in new.depends_on if await self._all.look_up(id) is None]
        task = tasks.backlogged(new, self._bare(chance), self._all.agents, missing)
        return await self._create(task, TaskBacklogAdded(task))

    async def update(self, id: str = "", progress: str = "", stepping: Stepping | None = None) -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: tasks.update(task, progress, stepping))

    async def complete(self, id: str = "", summary: str = "", *, force: bool = False) -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: tasks.complete(task, summary, force=force))

    async def block(self, blocking: Blocking, id: str = "") -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: tasks.block(task, blocking, self._all.agents))

    async def resume(self, id: str = "") -> Task:
        id = await self._meant(id, "blocked", "there is nothing to resume")
        return await self._change(id, tasks.resume)

    async def cancel(self, id: str, reason: str = "") -> Task:
        return await self._change(id, lambda task: tasks.cancel(task, reason), governing=True)

    async def fail(self, id: str, error: str) -> Task:
        return await self._change(id, lambda task: tasks.fail(task, error))

    async def approve(self, id: str) -> Task:
        return await self._change(id, tasks.approve, governing=True)

    async def pick(self, id: str = "") -> Task:
        """Without an id: the most urgent of the backlog that may be taken now."""
        known, now, place = await self._all.all(), self._all.clock.now(), self._by.work_session
        chosen = id or self._all.made(self._by)
        if not chosen:
            if why := busy(known, self._owner):
                raise WrongUse(why)
            chosen = next_pick(known, self._owner, now).id
        return await self._change(chosen, lambda task: tasks.pick(known, task, now, place), place)

    async def current(self) -> Task | None:
        return current(await self._own("in_progress"), self._owner, self._by.work_session)

    async def list(self, status: TaskStatus | None = None, *, everybody: bool = False) -> list[Task]:
        """The most urgent first."""
        query = RecordQuery(agent="" if everybody else self._owner, statuses=(status,) if status else None)
        return by_priority((await self._all.select(query)).values())

    async def _own(self, *statuses: TaskStatus) -> dict[str, Task]:
        return await self._all.select(RecordQuery(agent=self._owner, statuses=statuses or None))

    @property
    def _owner(self) -> str:
        if not self._agent:
            raise WrongUse("this needs an agent; name one, or a task")
        return self._agent

    def _bare(self, chance: str) -> Task:
        by, now = self._by, self._all.clock.now()
        id = by.new_id(TASK.prefix, chance)
        return Task(
            id=id,
            agent_id=self._owner,
            description="",
            status="pending",
            created_at=now,
            created_by=by.name,
            created_by_session=by.session,
            work_session_id=by.work_session or own_work_session(id),
            last_activity=now,
        )

    async def _create(self, task: Task, event: Event) -> Task:
        return await self._all.write(
            task.id, self._by, lambda there: [] if there else [event], task.work_session_id
        )

    async def _change(
        self,
        id: str,
        decide: Callable[[Task], Sequence[Event]],
        work_session: str = "",
        *,
        governing: bool = False,
    ) -> Task:
        def on(task: Task) -> Sequence[Event]:
            self._check_reach(task, governing)
            return decide(task)

        return await self._all.update(id, self._by, on, work_session)

    def _check_reach(self, task: Task, governing: bool) -> None:
        """Agents work on their own tasks; whoever asked for one, and leads, may also approve or cancel it."""
        if not self._by.is_agent or task.agent_id == self._agent:
            return
        if governing and (task.created_by == self._agent or self._agent in self._all.leads):
            return
        raise WrongUse(
            f"{task.id} is a task of {task.agent_id}; only {task.agent_id} or a person may do this to it"
        )

    async def _meant(self, id: str, status: TaskStatus, remedy: str) -> str:
        """The task that is named; or that this very call changed before its process died; or the agent's own."""
        if id:
            return id
        own = await self._own()
        if made := self._all.made(self._by):
            return made
        if found := current(own, self._owner, self._by.work_session, status):
            return found.id
        raise WrongUse(f"{self._owner} has no task that is {status}; {remedy}, or name one")
