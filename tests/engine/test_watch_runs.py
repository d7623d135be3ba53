"""The watch with real runs: what agents are really asked, and what they then do with their task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from folkmoot import Folkmoot, Surroundings
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.task_service import AgentTasks
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.task import Blocking
from folkmoot.engine.claims import RunIdentity
from folkmoot.ports import Query
from tests.desk import Desk, blocks
from tests.watching import HOUR, MINUTE

FILES = {"coder": "tools: [tasks]\nmaxRetries: 1", "tester": "tools: [tasks]", "boss": "role: lead"}
COMPLETE = {"calls": [{"tool": "task_complete", "arguments": {"summary": "mended"}}]}
RESUME = {"calls": [{"tool": "task_resume", "arguments": {}}]}


@asynccontextmanager
async def opened(desk: Desk) -> AsyncIterator[Hall]:
    """With runs that are named one after the other."""
    names = count(1)
    around = Surroundings(
        env={},
        clock=desk.clock,
        journal=desk.journal,
        identify=lambda _: RunIdentity(f"run-{next(names)}", "seed"),
    )
    async with Folkmoot.open(desk.folder, models={"scripted": desk.model}, around=around) as moot:
        yield Hall(desk, moot)


class Hall:
    """A project, its tasks and its watch."""

    def __init__(self, desk: Desk, moot: Folkmoot) -> None:
        self.desk = desk
        self.moot = moot.moot
        self.tasks = moot.moot.tasks
        self.watch = moot.watch()

    def of(self, agent: str) -> AgentTasks:
        return self.tasks.of(agent, Author("ann"))

    def later(self, seconds: float) -> None:
        """At once: who sleeps for a second is not woken for every second of a day."""
        self.desk.clock._elapsed += seconds

    async def look(self) -> None:
        await self.watch.tick()
        await self.watch.told()

    def prompts(self, agent: str) -> list[str]:
        return [
            next(message.text for message in request.messages if message.role == "user")
            for request in self.desk.model.heard_from(agent)
            if request.turn == request.attempt == 1
        ]


async def test_an_idle_agent_gets_one_prompt_with_the_task_in_an_envelope_and_completes_it(desk):
    """E-34, X-22, U-13."""
    desk = desk(FILES, {"coder": [COMPLETE, "done"]})
    async with opened(desk) as hall:
        task = await hall.of("coder").start(NewTask("Mend the login", simple=True), chance="1")
        hall.later(3 * MINUTE)
        await hall.look()
        hall.later(HOUR)
        await hall.look()

        (prompt,) = hall.prompts("coder")
        (asked, told) = blocks(prompt)
        assert (asked[0], told[0]) == ("original_user_request", "task")
        assert task.id in asked[2]
        assert "Mend the login" in told[2]
        assert (await hall.tasks.get(task.id)).status == "completed"
        (run,) = [entry.draft async for entry in desk.journal.read(Query(types=("run.started",)))]
        assert (run.event.errand.task, run.work_session_id) == (task.id, task.work_session_id)


async def test_a_blocked_agent_is_helped_reminded_and_goes_on(desk):
    """E-40, E-39: request, answer, reminder, resumption; each agent is asked once."""
    desk = desk(FILES, {"coder": [RESUME, "going on"], "tester": ["access is granted"]})
    async with opened(desk) as hall:
        task = await hall.of("coder").start(NewTask("Mend the login", simple=True), chance="1")
        await hall.of("coder").block(Blocking("no access", ("tester",), "grant access"), task.id)
        hall.later(1)
        await hall.look()
        hall.later(1)
        await hall.look()
        await hall.look()

        (helping,) = hall.prompts("tester")
        assert all(word in helping for word in (task.id, "no access", "grant access"))
        (reminded,) = hall.prompts("coder")
        assert ("response", "tester", "access is granted") in blocks(reminded)
        assert (await hall.tasks.get(task.id)).status == "in_progress"
