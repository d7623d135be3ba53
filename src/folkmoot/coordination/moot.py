"""Everything that outlives the runs of a project, for agents, people and the runtime alike."""

from __future__ import annotations

from functools import cached_property

from folkmoot.coordination.task.desk import TaskDesk
from folkmoot.coordination.team.desk import TeamDesk
from folkmoot.domain.agent import Graph
from folkmoot.ports import Clock, Journal


class Moot:
    """One desk per kind of record, made when it is first asked for."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        self.graph = graph
        self._journal = journal
        self._clock = clock

    @cached_property
    def tasks(self) -> TaskDesk:
        return TaskDesk(self._journal, self._clock, self.graph)

    @cached_property
    def team(self) -> TeamDesk:
        return TeamDesk(self._journal, self.graph)
