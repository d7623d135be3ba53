"""The desk for tasks: whoever changes one does it here, agents by their tools, people at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from folkmoot.coordination.author import Author
from folkmoot.coordination.keeping import Keeper
from folkmoot.coordination.task import deciding
from folkmoot.coordination.task.opening import NewTask, backlogged, started
from folkmoot.coordination.task.picking import busy, by_priority, current, next_pick, pick
from folkmoot.coordination.task.stepping import Stepping
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import own_work_session
from folkmoot.domain.records import TASK
from folkmoot.domain.task import Blocking, Task, TaskBacklogAdded, TaskStarted, TaskStatus
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery

_START = "start one (task_start) or pick one from the backlog (task_pick_backlog)"


class TaskDesk:
    """All tasks of a project."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.keeper: Keeper[Task] = Keeper(TASK, journal, clock)
        self.clock = clock
        self.agents = frozenset(agent.id for agent in graph.agents.values())
        self.leads = frozenset(agent.id for agent in graph.agents.values() if agent.role == "lead")
        self.get = self.keeper.get
        self.all = self.keeper.all

    def of(self, agent: str, by: Author) -> AgentTasks:
        """The tasks of an agent, in the hands of that agent or of a person who acts for it."""
        if agent and not by.is_agent:
            deciding.known(agent, self.agents)
        return AgentTasks(self, agent, by)


class AgentTasks:
    """What one agent, or a person for it, may do. Where a task may be left out, the agent's current one is meant."""

    def __init__(self, desk: TaskDesk, agent: str, by: Author) -> None:
        self._desk = desk
        self._keeper = desk.keeper
        self._agent = agent
        self._by = by

    async def start(self, new: NewTask, chance: str = "") -> Task:
        """`chance` names the task where no call does; see `Author.new_id`."""
        task = started(new, self._bare(chance))
        return await self._create(task, TaskStarted(task))

    async def add(self, new: NewTask, chance: str = "") -> Task:
        """Into the backlog, of this agent or of another."""
        tasks = await self._keeper.all()
        task = backlogged(new, self._bare(chance), self._desk.agents, tasks)
        return await self._create(task, TaskBacklogAdded(task))

    async def update(self, id: str = "", progress: str = "", stepping: Stepping | None = None) -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: deciding.update(task, progress, stepping))

    async def complete(self, id: str = "", summary: str = "", *, force: bool = False) -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: deciding.complete(task, summary, force=force))

    async def block(self, blocking: Blocking, id: str = "") -> Task:
        id = await self._meant(id, "in_progress", _START)
        return await self._change(id, lambda task: deciding.block(task, blocking, self._desk.agents))

    async def resume(self, id: str = "") -> Task:
        id = await self._meant(id, "blocked", "there is nothing to resume")
        return await self._change(id, deciding.resume)

    async def cancel(self, id: str, reason: str = "") -> Task:
        return await self._change(id, lambda task: deciding.cancel(task, reason), governing=True)

    async def fail(self, id: str, error: str) -> Task:
        return await self._change(id, lambda task: deciding.fail(task, error))

    async def approve(self, id: str) -> Task:
        return await self._change(id, deciding.approve, governing=True)

    async def pick(self, id: str = "") -> Task:
        """Without an id: the most urgent of the backlog that may be taken now."""
        tasks, now, place = await self._keeper.all(), self._desk.clock.now(), self._by.work_session
        chosen = id or self._keeper.made(self._by)
        if not chosen:
            if why := busy(tasks, self._owner):
                raise WrongUse(why)
            chosen = next_pick(tasks, self._owner, now).id
        return await self._change(chosen, lambda task: pick(tasks, task, now, place), place)

    async def current(self) -> Task | None:
        return current(await self._own("in_progress"), self._owner, self._by.work_session)

    async def list(self, status: TaskStatus | None = None, *, everybody: bool = False) -> list[Task]:
        """The most urgent first."""
        statuses = (status,) if status else None
        query = RecordQuery(agent="" if everybody else self._owner, statuses=statuses)
        return by_priority((await self._keeper.select(query)).values())

    async def _own(self, *statuses: TaskStatus) -> dict[str, Task]:
        return await self._keeper.select(RecordQuery(agent=self._owner, statuses=statuses or None))

    @property
    def _owner(self) -> str:
        if not self._agent:
            raise WrongUse("this needs an agent; name one, or a task")
        return self._agent

    def _bare(self, chance: str) -> Task:
        by, now = self._by, self._desk.clock.now()
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
        return await self._keeper.change(
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
        seen = await self._keeper.get(id)
        self._check_reach(seen, governing)

        def on(task: Task | None) -> Sequence[Event]:
            assert task is not None, "what was read stays"
            return decide(task)

        return await self._keeper.change(id, self._by, on, work_session or seen.work_session_id)

    def _check_reach(self, task: Task, governing: bool) -> None:
        """Agents work on their own tasks; whoever asked for one, and leads, may also approve or cancel it."""
        if not self._by.is_agent or task.agent_id == self._agent:
            return
        if governing and (task.created_by == self._agent or self._agent in self._desk.leads):
            return
        raise WrongUse(
            f"{task.id} is a task of {task.agent_id}; only {task.agent_id} or a person may do this to it"
        )

    async def _meant(self, id: str, status: TaskStatus, remedy: str) -> str:
        """The task that is named; or that this very call changed before its process died; or the agent's own."""
        if id:
            return id
        tasks = await self._own()
        if made := self._keeper.made(self._by):
            return made
        if found := current(tasks, self._owner, self._by.work_session, status):
            return found.id
        raise WrongUse(f"{self._owner} has no task that is {status}; {remedy}, or name one")
