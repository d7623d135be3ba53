"""Everything that outlives the runs of a project, for agents, people and the runtime alike."""

from __future__ import annotations

from functools import cached_property

from folkmoot.coordination.decision_service import Decisions
from folkmoot.coordination.memory import Memories
from folkmoot.coordination.plan_service import Plans
from folkmoot.coordination.task_service import TaskService
from folkmoot.coordination.team import TeamDesk
from folkmoot.coordination.work_sessions import WorkSessions
from folkmoot.domain.agent import Graph
from folkmoot.ports import Clock, Journal


class Moot:
    """One service per kind of record, made when it is first asked for."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.graph = graph
        self.journal = journal
        self.clock = clock

    @cached_property
    def tasks(self) -> TaskService:
        return TaskService(self.journal, self.clock, self.graph)

    @cached_property
    def plans(self) -> Plans:
        return Plans(self.journal, self.clock, self.graph)

    @cached_property
    def decisions(self) -> Decisions:
        return Decisions(self.journal, self.clock, self.graph)

    @cached_property
    def work_sessions(self) -> WorkSessions:
        return WorkSessions(self.journal, self.clock, self.graph)

    @cached_property
    def memories(self) -> Memories:
        return Memories(self.journal, self.clock, self.graph)

    @cached_property
    def team(self) -> TeamDesk:
        return TeamDesk(self.journal, self.graph)
