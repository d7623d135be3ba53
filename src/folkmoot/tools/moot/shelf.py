"""All coordination tools by the names that agent files use."""

from __future__ import annotations

from collections.abc import Callable

from folkmoot.coordination.moot import Moot
from folkmoot.tools.functions import FunctionTool
from folkmoot.tools.moot.tasks import task_tools


def moot_tools(moot: Callable[[], Moot]) -> dict[str, FunctionTool]:
    """What changes a record is `keyed`: a call that is made again after a crash is known by its place.

    They touch nothing but the project's own records, so `read` is the most they do to the world.
    """
    return {**task_tools(moot)}
