"""The files of a project as they are by now, sound or not; the server goes on with those it was started with."""

from __future__ import annotations

import asyncio
from functools import partial

from folkmoot.app import Folkmoot
from folkmoot.domain.sketch import Sketch
from folkmoot.engine.workshop import load_project
from folkmoot.loader.load import sketch


async def files_now(moot: Folkmoot) -> Sketch:
    """Beside the event loop, because a project may have many files."""
    loading = partial(load_project, moot.folder, tools=moot.tools)
    return await asyncio.to_thread(sketch, moot.folder, loading)
