"""How the watch starts runs: in this process, or by leaving them to workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from folkmoot.domain.errand import Errand
from folkmoot.errors import FolkmootError


class Starter(Protocol):
    """Whoever can start a run of an agent."""

    def objection(self, agent: str) -> str:
        """Why this agent cannot be started; empty if it can."""

    async def start(self, agent: str, request: str, errand: Errand) -> None:
        """Return when the run has ended or is surely left to somebody; raise if there is none."""


class Starts:
    """Starts runs by the means of a front desk."""

    def __init__(self, admit: Callable[[str], object], run: Callable[..., Awaitable[object]]) -> None:
        self._admit = admit
        self._run = run

    def objection(self, agent: str) -> str:
        try:
            self._admit(agent)
        except FolkmootError as error:
            return str(error)
        return ""

    async def start(self, agent: str, request: str, errand: Errand) -> None:
        await self._run(agent, request, errand=errand)
