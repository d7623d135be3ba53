"""Control of work sessions together with their runs: pause, go on, stop."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from folkmoot.coordination.author import Author
from folkmoot.coordination.work_sessions import WorkSessions, becoming, paused, resumed
from folkmoot.engine.commands import CancelRun
from folkmoot.engine.local import LocalEngine
from folkmoot.errors import WrongUse


@dataclass(frozen=True)
class Control:
    desk: WorkSessions
    engine: LocalEngine

    async def pause(self, id: str, reason: str = "", author: Author = Author()) -> list[str]:
        """From here on no run starts in it, and those under way begin nothing new; they park. Their names."""
        await self.desk.change(id, paused(reason), author)
        return await self.engine.look_at_pause(id)

    async def resume(self, id: str, author: Author = Author()) -> list[str]:
        """Its runs may go on: workers are woken for them, the others wait for `Folkmoot.resume`. Their names."""
        await self.desk.change(id, resumed, author)
        return await self.engine.look_at_pause(id)

    async def cancel(self, id: str, reason: str = "", author: Author = Author()) -> list[str]:
        """Give it up and stop its runs, wherever they run. Their names."""
        await self.desk.change(id, becoming("Cancelled", reason), author)
        runs = await self.engine.open_runs(id)
        for run in runs:
            with suppress(WrongUse):  # it ended meanwhile
                await self.engine.send(run, CancelRun(reason or "its work session was cancelled"))
        return runs
