"""The drawer of a run: one step from close by, with the exact prompt."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.app import Folkmoot
from folkmoot.domain.message import Message
from folkmoot.errors import FolkmootError
from folkmoot.ports import Query
from folkmoot.views.drawer import Drawer, drawer
from folkmoot.views.run_nodes import Step
from folkmoot.views.run_tree import RunTree


@dataclass(frozen=True)
class Opened:
    drawer: Drawer
    prompt: tuple[Message, ...] = ()
    no_prompt: str = ""
    """Why it cannot be shown."""


async def drawer_of(moot: Folkmoot, run: str, steps: RunTree, step: Step) -> Opened:
    seqs = tuple(steps.entries[step.session])
    query = Query(stream=run, seqs=seqs, after=seqs[0] - 1)
    opened = drawer(step, [entry async for entry in moot.moot.journal.read(query)])
    if step.kind != "model":
        return Opened(opened)
    try:
        return Opened(opened, await moot.prompt(run, step.seq))
    except (FolkmootError, KeyError) as error:
        return Opened(opened, no_prompt=str(error))
