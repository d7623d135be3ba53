"""The runs of one agent, as its clients know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from a2a.types import Task
from a2a.utils.errors import TaskNotFoundError

from folkmoot.a2a_server.messages import work_session_of
from folkmoot.a2a_server.tasks import ENDED, root_of, task_of
from folkmoot.a2a_server.updates import RESTS
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Entry
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunParked
from folkmoot.domain.run_row import RunRow
from folkmoot.ports import Filter, RunQuery
from folkmoot.views.chat import exchange, said_before

_MOST = 10_000
"""Runs of one context that are looked at."""


class Course(NamedTuple):
    """A run, up to some entry."""

    run: str
    past: Sequence[Entry]
    after: int
    """What comes behind this entry of the journal is news."""

    @property
    def task(self) -> Task:
        return task_of(self.run, [entry.draft for entry in self.past])

    @property
    def is_over(self) -> bool:
        return self.task.status.state in ENDED

    @property
    def rests(self) -> bool:
        return isinstance(self.past[-1].event, RESTS)

    @property
    def begun(self) -> Course:
        """From its first entry on, however much has happened since."""
        return Course(self.run, self.past[:1], self.past[0].seq)

    @property
    def answered(self) -> Course:
        """It waits no more, though that is not in the journal yet."""
        parked = isinstance(self.past[-1].event, RunParked)
        return self._replace(past=self.past[:-1]) if parked else self


class Courses:
    def __init__(self, moot: Folkmoot, agent: Agent) -> None:
        self._moot = moot
        self._agent = agent

    async def known(self, run: str) -> Course:
        """Raises `TaskNotFoundError` for runs of other agents too: so an id need not be a secret."""
        if course := await self.find(run):
            return course
        raise TaskNotFoundError(f"there is no task {run!r} of this agent")

    async def find(self, run: str) -> Course | None:
        past = [entry async for entry in self._moot.events(run)] if run else []
        if root_of([entry.draft for entry in past[:1]]) != self._agent.file:
            return None
        return Course(run, past, past[-1].seq)

    async def rows(self, context: str = "") -> list[RunRow]:
        """All of them, or those of a context, the newest first."""
        rows = await self._moot.runs(RunQuery(agents=(self._agent.file,)))
        within = set(await self._within(context)) if context else {row.run_id for row in rows}
        return [row for row in rows if row.run_id in within]

    async def said_before(self, context: str) -> tuple[Block, ...]:
        """What this agent was asked in a context, and what it answered."""
        courses = [await self.find(run) for run in reversed(await self._within(context))] if context else []
        told = (
            exchange(each.run, [entry.draft for entry in each.past], "running") for each in courses if each
        )
        return said_before(filter(None, told))

    async def _within(self, context: str) -> list[str]:
        wanted = Filter(work_session=work_session_of(context), types=("run.started",), limit=_MOST)
        return [entry.stream for entry in await self._moot.find(wanted)]
