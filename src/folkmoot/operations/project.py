"""What operations are done to: the records of a project, and what only whoever has opened it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from folkmoot.coordination.moot import Moot

if TYPE_CHECKING:
    from folkmoot.coordination.author import Author
    from folkmoot.views.work_sessions import WorkRow


class WorkControl(Protocol):
    """Of work sessions together with their runs, wherever these are held; it gives the names of the runs."""

    async def pause(self, id: str, reason: str, author: Author) -> list[str]: ...

    async def resume(self, id: str, author: Author) -> list[str]: ...

    async def cancel(self, id: str, reason: str, author: Author) -> list[str]: ...


class Host(Protocol):
    """Whoever has opened a project: a server, or a command."""

    @property
    def control(self) -> WorkControl: ...

    async def work_rows(self) -> list[WorkRow]:
        """Where something happened last first."""
        ...

    def go_on(self, run: str) -> None:
        """With a run that may go on, if runs go on here."""


class OpenProject(Moot):
    host: Host
    """Of a project that people use; what agents do needs none."""
