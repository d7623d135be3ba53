"""The collaborations that a server carries on: begun for its clients, and taken up again when it is started anew.

Their members' runs go on in the engine room, or with workers. One that waits, for a person or because it is paused or
was stopped, is looked at again as soon as anything is recorded in its work session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from folkmoot.app import Folkmoot
from folkmoot.coordination.author import Author
from folkmoot.coordination.work_sessions import entrusted
from folkmoot.domain.collaboration_events import WorkSessionEntrusted
from folkmoot.domain.errand import Errand
from folkmoot.engine.collaboration import Collaboration
from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.http.engine_room import EngineRoom
from folkmoot.ports import Query
from folkmoot.views.result import Result

PATIENCE = 60.0
"""Seconds until one that waits is looked at although nothing was recorded, or one that failed is tried again."""


@dataclass
class _Carried:
    overruled: int
    """The position of the journal at which somebody last wanted it to continue; 0 if nobody did here."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Carrying:
    """`async with` it and it also takes up what was entrusted to servers before."""

    def __init__(self, moot: Folkmoot, room: EngineRoom) -> None:
        self._moot = moot
        self._room = room
        self._clock = moot.moot.clock
        self._going: dict[str, _Carried] = {}
        self._looking: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self.say: Callable[[str], None] = lambda text: None
        """Told what goes wrong."""

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """What is under way is left as it is; the runs are the engine room's."""
        tasks = [self._looking, self._listening, *(each.task for each in self._going.values())]
        left = [task for task in tasks if task]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    async def begin(self, id: str, author: Author = Author()) -> None:
        """Carry it on until it has ended, whoever else asks for what; also over restarts."""
        await self._moot.moot.work_sessions.change(id, entrusted, author)
        await self._take_up(id, await self._moot.position())

    async def _look(self) -> None:
        """For what the last server left; a journal that is away now may not be so later."""
        try:
            async for entry in self._moot.moot.journal.read(Query(types=(WorkSessionEntrusted.type,))):
                if not (await self._moot.moot.work_sessions.get(entry.stream)).ended:
                    await self._take_up(entry.stream, 0)
        except OperationFailed as error:
            self.say(f"collaborations are taken up in {PATIENCE:g} s: {error}")
            await self._clock.sleep(PATIENCE)
            await self._look()

    async def _take_up(self, id: str, overruled: int) -> None:
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(await self._moot.position()))
        if carried := self._going.get(id):
            carried.overruled = max(carried.overruled, overruled)
            carried.news.set()  # also while it is looked at: that look may have seen too little
            return
        carried = self._going[id] = _Carried(overruled)
        carried.task = asyncio.create_task(self._carry_on(id, carried))

    async def _listen(self, position: int) -> None:
        async for entry in self._moot.events(follow=True, after=position):
            if carried := self._going.get(entry.draft.work_session_id):
                carried.news.set()

    async def _carry_on(self, id: str, carried: _Carried) -> None:
        try:
            while not await self._has_ended(id, carried):
                with suppress(TimeoutError):
                    await self._clock.within(PATIENCE, carried.news.wait())
        finally:
            del self._going[id]

    async def _has_ended(self, id: str, carried: _Carried) -> bool:
        """Carry it on as far as it goes now."""
        collaboration = Collaboration(self._moot.moot, id, self._run, lambda move: None)
        collaboration.overruled = carried.overruled
        carried.news.clear()  # first: what comes from here on may be more than is seen
        try:
            return not (await collaboration.carry_on()).why
        except FolkmootError as error:
            self.say(f"{id} does not go on, and is tried again in {PATIENCE:g} s: {error}")
            await self._clock.sleep(PATIENCE)
            return False

    async def _run(self, agent: str, request: str, errand: Errand) -> Result:
        """To its end, however long it waits for a person; one that exists goes on by itself, or with workers."""
        begun = Query(stream=errand.run, limit=1)
        if not [entry async for entry in self._moot.moot.journal.read(begun)]:
            await self._room.begin(agent, request, errand)
        return await self._moot.followed(errand.run, wait=True)
