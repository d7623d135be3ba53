"""The six races of the watch: each planted fault is found by the simulated scheduler, and each fix passes all seeds."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from folkmoot.coordination.record_store import RUNTIME
from folkmoot.coordination.watch import Sight
from folkmoot.coordination.watch_rules import Move, Rule, due
from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.task import Task
from folkmoot.engine.watch import TaskWatcher
from folkmoot.errors import Conflict
from folkmoot.ports import Query, Version
from tests.simulation import World, found_by
from tests.watching import HOUR, MINUTE, Post

SEEDS = range(100)


class WithoutLock(TaskWatcher):
    """Looks again before it acts, but writes whatever came in between."""

    async def _recorded(self, rule: Rule, task: Task) -> Move | None:
        sight = await self._look()
        move = rule(sight.tasks[task.id], sight)
        if move:
            await self._force(move)
        return move

    async def _force(self, move: Move) -> None:
        while True:
            stream = [entry async for entry in self._moot.journal.read(Query(stream=move.task.id))]
            draft = Draft(self._moot.clock.now(), move.event, agent_id=RUNTIME)
            try:
                await self._moot.journal.append(move.task.id, Version(len(stream)), [draft])
            except Conflict:
                continue
            return


class WithoutSecondLook(WithoutLock):
    """Acts on what it saw first."""

    async def _attend(self, task: Task, sight: Sight, rules: Sequence[Rule]) -> None:
        for rule in due(task, sight, rules):
            move = rule(task, sight)
            assert move is not None
            await self._force(move)
            if move.tells:
                self._tell(move)


class SendsFirst(TaskWatcher):
    """Tells the agent, and records it when that is done."""

    async def _attend(self, task: Task, sight: Sight, rules: Sequence[Rule]) -> None:
        for rule in due(task, sight, rules):
            move = rule(task, sight)
            assert move is not None
            if move.tells:
                await self._start(move)
            await self._recorded(lambda task, sight, move=move: move, task)


class Unguarded(TaskWatcher):
    """Lets whatever goes wrong fly."""

    async def _guarded(self, work: Callable[[], Awaitable[None]], task: str = "") -> None:
        await work()


async def both(post: Post, kind: type[TaskWatcher], *others: Awaitable[Any]) -> None:
    """Two watchers look at the same time, and others do something meanwhile."""
    watchers = [post.watcher(kind) for _ in range(2)]
    await asyncio.gather(*(watch.tick() for watch in watchers), *others)
    await asyncio.gather(*(watch.told() for watch in watchers))


def fails(kind: type[TaskWatcher], scene: Callable[[Post, type[TaskWatcher]], Awaitable[bool]]) -> list[int]:
    return found_by(SEEDS, lambda world: scene(Post(world.journal, world.clock), kind))


async def two_prompts(post: Post, kind: type[TaskWatcher]) -> bool:
    await post.task()
    await post.clock.sleep(4 * MINUTE)
    await both(post, kind)
    return post.crew.told.count(("coder", post.crew.told[0][1])) != 1


def test_fix_1_two_watchers_give_an_idle_agent_one_prompt():
    """E-35, X-E4."""
    assert len(fails(WithoutLock, two_prompts)) > 10
    assert fails(TaskWatcher, two_prompts) == []


async def two_requests(post: Post, kind: type[TaskWatcher]) -> bool:
    await post.blocked("tester", "ops")
    await both(post, kind)
    return len(post.crew.told) != 1


def test_fix_2_two_watchers_make_one_unblock_request():
    """E-36, X-E4: the lock."""
    assert len(fails(WithoutLock, two_requests)) > 10
    assert fails(TaskWatcher, two_requests) == []


async def asked_in_vain(post: Post, kind: type[TaskWatcher]) -> bool:
    """Whether somebody is asked about a task after it was resumed."""
    task = await post.blocked("tester")
    await asyncio.gather(post.watcher(kind).tick(), post.agent("coder").resume(task.id))
    types = [event.type for event in await post.events(task)]
    return "unblock.requested" in types[types.index("task.resumed") :]


def test_fix_3_a_task_that_is_resumed_between_look_and_lock_is_not_asked_about():
    """E-36, X-E4: read again under the lock."""
    assert len(fails(WithoutSecondLook, asked_in_vain)) > 5
    assert fails(TaskWatcher, asked_in_vain) == []


async def killed_alive(post: Post, kind: type[TaskWatcher]) -> bool:
    """Whether a task is given up after somebody worked on it."""
    task = await post.task()
    await post.clock.sleep(25 * HOUR)
    await asyncio.gather(post.watcher(kind).tick(), post.agent("coder").update(task.id, "still at it"))
    types = [event.type for event in await post.events(task)]
    return "zombie.abandoned" in types[types.index("task.updated") :]


def test_fix_4_activity_in_the_gap_keeps_a_task_from_being_interrupted():
    """E-37, X-E4."""
    assert len(fails(WithoutSecondLook, killed_alive)) > 5
    assert fails(TaskWatcher, killed_alive) == []


async def b_is_forgotten(post: Post, kind: type[TaskWatcher]) -> bool:
    await post.task("coder")
    await post.task("tester")
    await post.clock.sleep(4 * MINUTE)

    def fail(agent: str, request: str) -> None:
        if agent == "coder":
            raise ValueError("coder is not well")

    post.crew.admit = fail  # type: ignore[method-assign]
    watch = post.watcher(kind)
    try:
        await watch.tick()
    except ValueError:
        return True
    await watch.told()
    return [agent for agent, _ in post.crew.told] != ["tester"]


def test_fix_5_what_goes_wrong_with_one_agent_does_not_stop_the_others():
    """E-38, X-E4."""
    assert fails(Unguarded, b_is_forgotten) == [*SEEDS]
    assert fails(TaskWatcher, b_is_forgotten) == []


async def two_reminders(post: Post, kind: type[TaskWatcher]) -> bool:
    """A slow send, and a second look while the agent is being told."""
    task = await post.blocked("tester")
    await post.clock.sleep(1)
    await post.crew.run("tester", Errand(task=task.id))
    await post.clock.sleep(1)
    post.crew.delay = MINUTE
    post.crew.denied["tester"] = "nobody else is asked in this scene"
    await asyncio.gather(post.watcher(kind).tick(), _later(post, kind))
    await post.clock.sleep(2 * MINUTE)
    return post.crew.told.count(("coder", task.id)) != 1


async def _later(post: Post, kind: type[TaskWatcher]) -> None:
    await post.clock.sleep(0.001)
    await post.watcher(kind).tick()


def test_fix_6_a_reminder_is_recorded_before_it_is_sent():
    """E-39, X-E4: a slow send and a second tick give one reminder."""
    assert len(fails(SendsFirst, two_reminders)) > 5
    assert fails(TaskWatcher, two_reminders) == []


@pytest.mark.parametrize("watchers", [2, 5])
def test_any_number_of_watchers_never_double_a_prompt(watchers):
    """E-35, E-39: whoever looks when, prompts about a task are 5 minutes apart."""

    async def long_while(world: World) -> bool:
        post = Post(world.journal, world.clock)
        task = await post.task()
        looking = [post.watcher() for _ in range(watchers)]

        async def keep(watch: TaskWatcher) -> None:
            for _ in range(15):
                await watch.tick()
                await world.clock.sleep(100 + 40 * world.chance.random())

        await asyncio.gather(*map(keep, looking))
        sent = [
            datetime.fromisoformat(entry.draft.ts).timestamp()
            async for entry in world.journal.read(Query(stream=task.id, types=("continuation.sent",)))
        ]
        apart = [later - sooner for sooner, later in pairwise(sent)]
        return not sent or any(gap < 5 * MINUTE for gap in apart)

    assert found_by(range(30), long_while) == []
