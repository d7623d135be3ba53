"""Everything that outlives the runs of a project, for agents, people and the runtime alike."""

from __future__ import annotations

from functools import cached_property

from folkmoot.coordination.decisions.desk import Decisions
from folkmoot.coordination.memory import Memories
from folkmoot.coordination.plans.desk import Plans
from folkmoot.coordination.task.desk import TaskDesk
from folkmoot.coordination.team.desk import TeamDesk
from folkmoot.coordination.work_sessions.desk import WorkSessions
from folkmoot.domain.agent import Graph
from folkmoot.ports import Clock, Journal


class Moot:
    """One desk per kind of record, made when it is first asked for."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.graph = graph
        self.journal = journal
        self.clock = clock

    @cached_property
    def tasks(self) -> TaskDesk:
        return TaskDesk(self.journal, self.clock, self.graph)

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
