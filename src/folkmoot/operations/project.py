"""What operations are done to: the records of a project, its runs, and what only whoever has opened it can do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from folkmoot.coordination.moot import Moot

if TYPE_CHECKING:
    from folkmoot.domain.entry import Entry
    from folkmoot.domain.sinks import SinkSettings
    from folkmoot.engine.collaboration import WorkSessionControl
    from folkmoot.engine.local import LocalEngine
    from folkmoot.orchestration.kit import ToolsetFactory
    from folkmoot.ports import Filter
    from folkmoot.views.conversations import Conversation
    from folkmoot.views.work_sessions import WorkRow


class Host(Protocol):
    """Whoever has opened a project: a server, which remembers what it has read, or a command."""

    @property
    def folder(self) -> Path: ...

    def tools(self) -> ToolsetFactory:
        """That agents have."""
        ...

    def sinks(self) -> Iterable[SinkSettings]: ...

    async def find(self, wanted: Filter) -> list[Entry]: ...

    async def work_rows(self) -> Iterable[WorkRow]:
        """Where something happened last first."""
        ...

    async def find_work(self, name: str) -> WorkRow: ...

    async def threads(self, *, delegated: bool) -> Mapping[str, Conversation]: ...

    def go_on(self, run: str) -> None:
        """With a run that may go on, if runs go on here."""


class OpenProject(Moot):
    host: Host
    """Of a project that people use; what agents do needs none."""

    @cached_property
    def engine(self) -> LocalEngine:
        """Reaches every run, whoever holds it; whoever holds runs itself puts its own here."""
        from folkmoot.engine.local import LocalEngine

        return LocalEngine(self.journal, self.clock)

    @property
    def control(self) -> WorkSessionControl:
        """Pause, resume and stop work sessions together with their runs."""
        from folkmoot.engine.collaboration import WorkSessionControl

        return WorkSessionControl(self.work_sessions, self.engine)
