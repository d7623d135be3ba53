"""Keeps the watch: looks, decides, records, and only then tells agents, by starting runs of them.

What it does about a task is appended to the stream of that task, on condition that nothing came in between; otherwise
it looks and decides again. This is the only lock: of any number of watchers one records a move, and only that one
acts on it. A watcher that dies in between leaves its record, which counts as the attempt; when its cooldown is over and
still nothing has happened, the next look of anyone finds the same thing due again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from folkmoot.coordination.moot import Moot
from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.coordination.watch import Moments, Sight, leads_of
from folkmoot.coordination.watch_rules import FIRST, THEN, Move, Rule, due, errand, not_told, request, summary
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunCompleted
from folkmoot.domain.task import ResumeReminderSent, Task
from folkmoot.domain.value import Value
from folkmoot.errors import FolkmootError
from folkmoot.ports import Query

ANSWER = 4_000
"""Characters of an unblocker's answer that are passed on."""


class SettledRecord(Protocol):
    """A record about which something was done."""

    @property
    def id(self) -> str: ...


Duty = Callable[[], Awaitable[Sequence[SettledRecord]]]
"""Does something else whose time may have come, such as ending a vote; what was settled by it."""


class WatchAction(Value):
    """One thing that came of a look."""

    type: str
    """Of the event, `settled` or `trouble`."""
    task_id: str = ""
    agent_id: str = ""
    """Who was told, otherwise whose task it is."""
    text: str = ""


class TaskWatcher:
    def __init__(
        self,
        moot: Moot,
        admit: Callable[[str, str], object],
        run: Callable[..., Awaitable[object]],
        duties: Sequence[Duty] = (),
    ) -> None:
        """`admit` raises if an agent cannot be started; `run` returns when its run has ended or is surely left to
        somebody, and raises if there is none. Both as `Folkmoot` has them."""
        self.settings = moot.graph.settings.agents.defaults.task_continuation
        self._moot = moot
        self._admit = admit
        self._run = run
        self._duties = duties
        self._moments = Moments(moot.clock)
        self._leads = leads_of(moot.graph)
        self._complained: set[str] = set()
        """Tasks whose damage was told."""
        self._telling: dict[asyncio.Task[None], str] = {}
        self.say: Callable[[WatchAction], None] = lambda done: None
        """Told of everything that is done, as it is done."""

    async def work(self) -> None:
        """Look again and again, without end; a journal that cannot be read now is looked into later.

        Cancelling it cancels the runs that it started here.
        """
        try:
            while True:
                await self._guarded(self.tick)
                await self._moot.clock.sleep(self.settings.check_interval)
        finally:
            for task in self._telling:
                task.cancel()
            await self.told()

    async def tick(self) -> None:
        """Look once, and do what is due. What agents are told goes on after it: see `told`."""
        if self.settings.enabled:
            for rules in (FIRST, THEN):
                sight = await self._look()
                for task in sight.tasks.values():
                    await self._guarded(partial(self._attend, task, sight, rules), task.id)
        for duty in self._duties:
            await self._guarded(partial(self._see_to, duty))

    async def told(self) -> None:
        """Return when all that agents were told by this watcher has come to an end."""
        while self._telling:
            await asyncio.gather(*self._telling, return_exceptions=True)

    async def _look(self) -> Sight:
        tasks, damaged = await self._moot.tasks.readable()
        for id in damaged.keys() - self._complained:
            self._complained.add(id)
            self.say(WatchAction("trouble", id, text=damaged[id]))
        health, living = await self._moot.team.health(), await self._moot.team.living()
        self._moments.look()
        return Sight(
            tasks,
            health,
            living,
            self._moments,
            self.settings,
            self._leads,
            self._objection,
            tuple(self._telling.values()),
        )

    def _objection(self, agent: str) -> str:
        try:
            self._admit(agent, "go on")
        except FolkmootError as error:
            return str(error)
        return ""

    async def _attend(self, task: Task, sight: Sight, rules: Sequence[Rule]) -> None:
        for rule in due(task, sight, rules):
            if move := await self._recorded(rule, task):
                self._say(move)
                if move.tells:
                    self._tell(move)

    async def _recorded(self, rule: Rule, task: Task) -> Move | None:
        """What is still due when everything is looked at once more; it is durable when this returns."""
        sight: list[Sight] = []
        moves: list[Move | None] = []

        async def look() -> None:
            sight[:] = [await self._look()]

        def decide(task: Task | None) -> Sequence[Event]:
            assert task is not None, "what was read stays"
            moves[:] = [move := rule(task, sight[0])]
            return [move.event] if move else []

        await self._moot.tasks.write(task.id, Author(RUNTIME), decide, task.work_session_id, look)
        return moves[0]

    def _tell(self, move: Move) -> None:
        telling = asyncio.create_task(self._guarded(partial(self._start, move), move.task.id))
        self._telling[telling] = move.tells
        telling.add_done_callback(lambda ended: self._telling.pop(ended, None))

    async def _start(self, move: Move) -> None:
        try:
            heard = await self._heard(move)
            written = await self._moot.tasks.sources([move.task.id])
            await self._run(move.tells, request(move), errand=replace(errand(move, heard), sources=written))
        except Exception as error:
            await self._recorded(partial(not_told, move=move, why=str(error)), move.task)
            raise

    async def _heard(self, move: Move) -> tuple[Block, ...]:
        """What those who were asked to help have answered."""
        if not isinstance(move.event, ResumeReminderSent) or move.task.blocking is None:
            return ()
        health = await self._moot.team.health()
        heard = []
        for agent in move.task.blocking.unblocked_by:
            last = health.last_runs.get((move.task.id, agent))
            ends = Query(stream=last.run if last else "-", types=(RunCompleted.type,))
            async for entry in self._moot.journal.read(ends):
                assert isinstance(entry.event, RunCompleted)
                text = entry.event.outcome.report.content[:ANSWER]
                heard.append(Block("response", text, agent, sources=entry.event.sources))
        return tuple(heard)

    async def _see_to(self, duty: Duty) -> None:
        for settled in await duty():
            self.say(WatchAction("settled", text=f"{settled.id}, whose time was over"))

    async def _guarded(self, work: Callable[[], Awaitable[None]], task: str = "") -> None:
        """Whatever goes wrong with one task, duty or look, the others are seen to."""
        try:
            await work()
        except Exception as error:
            said = str(error) if isinstance(error, FolkmootError) else f"{type(error).__name__}: {error}"
            self.say(WatchAction("trouble", task, text=said))

    def _say(self, move: Move) -> None:
        self.say(WatchAction(move.event.type, move.task.id, move.tells or move.task.agent_id, summary(move)))
