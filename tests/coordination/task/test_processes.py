"""Several processes change one task: nothing is lost, and nobody waits for the dead."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from folkmoot import FakeClock
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.task_service import TaskService
from folkmoot.coordination.tasks import NewTask, Stepping
from folkmoot.domain.records import TASK
from folkmoot.ports import Query
from tests.coordination.task.child import opened
from tests.coordination.task.desks import graph

CHILD = Path(__file__).with_name("child.py")


@asynccontextmanager
async def child(where, task, name, step, count):
    pipe = asyncio.subprocess.PIPE
    arguments = (CHILD, where, task, name, step, str(count))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert await process.stdout.readline() == b"ready\n"
    try:
        async with asyncio.timeout(300):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def shared(where):
    """A task that others may change too; its third step is under way."""
    journal = opened(where)
    desk = TaskService(journal, FakeClock(), graph())
    ann = desk.of("coder", Author("ann"))
    task = await ann.start(NewTask("shared", steps=("a's", "b's", "mine")), "drawn")
    await ann.update(task.id, stepping=Stepping("start_step", "s3"))
    yield journal, ann, task.id
    await journal.close()


async def check_two(where, count):
    """Two processes note progress and change a step each; every change builds on all before it."""
    async with (
        shared(where) as (journal, _, id),
        child(where, id, "a", "s1", count) as a,
        child(where, id, "b", "s2", count) as b,
    ):
        said = await asyncio.gather(a.communicate(b"go\n"), b.communicate(b"go\n"))
        assert (a.returncode, b.returncode) == (0, 0), said
        drafts = [entry.draft async for entry in journal.read(Query(stream=id))]
    task = None
    for draft in drafts[:2]:
        task = TASK.evolve(task, draft)
    for draft in drafts[2:]:
        before, task = task.steps, TASK.evolve(task, draft)
        changed = {new.id for old, new in zip(before, task.steps, strict=True) if old != new}
        assert changed <= {draft.event.step_id}, "what the other did is undone"
    for name in ("a", "b"):
        notes = [note for note in task.progress if note.startswith(name)]
        assert notes == [f"{name} {n}" for n in range(count)]


async def test_two_processes_that_change_one_task_two_hundred_times_each_lose_nothing(tmp_path):
    """E-29, O-40: no lock files, a conflict is retried."""
    await check_two(str(tmp_path), 200)

    assert not list(tmp_path.rglob("*.lock"))


async def test_two_processes_on_postgresql_lose_nothing(storage):
    """E-29, O-40."""
    await check_two(f"{storage.url}#{storage.project}", 40)


async def test_a_process_that_is_killed_in_the_middle_blocks_nobody(tmp_path):
    """E-29, O-40, D-27: what it was told is kept is there, and others go on at once."""
    async with shared(str(tmp_path)) as (_, ann, task):
        async with child(str(tmp_path), task, "a", "s1", 100_000) as process:
            process.stdin.write(b"go\n")
            for _ in range(20):
                await process.stdout.readline()
            process.kill()
            await process.wait()

        after = await ann.update(task, "mine")

    assert len(after.progress) > 20
    assert (after.progress[0], after.progress[-1]) == ("a 0", "mine")
