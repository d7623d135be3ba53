"""The agents of a project as their files name each other, sound or not: for a drawing with the problems marked."""

from __future__ import annotations

from folkmoot.domain.agent import Graph, Pattern
from folkmoot.domain.value import Value
from folkmoot.errors import Problem


class Sketched(Value):
    """One agent file, as far as it can be understood alone."""

    file: str
    description: str = ""
    role: str = ""
    capabilities: tuple[str, ...] = ()
    links: tuple[tuple[Pattern, str], ...] = ()
    """To files that exist, whatever is in them."""


class Sketch(Value):
    agents: tuple[Sketched, ...]
    problems: tuple[Problem, ...]
    graph: Graph | None = None
    """Absent if anything is wrong with it."""
