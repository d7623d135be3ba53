"""How the records of a project that people and agents use are made."""

from __future__ import annotations

from collections.abc import Callable

from folkmoot.engine.workshop import RecordsFactory
from folkmoot.operations.project import OpenProject
from folkmoot.tools.registry import FunctionTool


def _coordination_tools(project: Callable[[], OpenProject]) -> dict[str, FunctionTool]:
    from folkmoot.operations.agent_tools import coordination_tools  # noqa: PLC0415  # needed by few projects

    return coordination_tools(project)


RECORDS = RecordsFactory(OpenProject, _coordination_tools)
