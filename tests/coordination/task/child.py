"""Another process that changes a task: `python child.py WHERE TASK NAME STEP COUNT`. It waits for a line on stdin;
then it notes progress and changes its step by turns, and each number it prints is a change that is kept.

WHERE is a folder, or `postgresql://…#PROJECT`.
"""

import asyncio
import sys
import time
from pathlib import Path

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.task_service import TaskService
from folkmoot.coordination.tasks import Stepping
from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import Storage
from folkmoot.engine.clock import SystemClock
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.sqlite import SqliteJournal


def opened(where):
    if not where.startswith("postgresql:"):
        return SqliteJournal.open(Path(where), time.monotonic)
    url, _, project = where.partition("#")
    return PostgresJournal(Storage(url=url, project=project))


async def change(where, task, name, step, count):
    journal = opened(where)
    tasks = TaskService(journal, SystemClock(), Graph({})).of("", Author(name))
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(count)):
        action = "complete_step" if n % 2 else "skip_step"
        await tasks.update(task, f"{name} {n}", Stepping(action, step))
        print(n, flush=True)
    await journal.close()


if __name__ == "__main__":
    asyncio.run(change(*sys.argv[1:]))
