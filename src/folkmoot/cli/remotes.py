"""What `folkmoot doctor` finds out about remote agents: whether each is there, and what its card says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from folkmoot.cli.finding import Finding
from folkmoot.domain.agent import Agent, Graph
from folkmoot.errors import ModelFailed
from folkmoot.models.choose import ProviderModels
from folkmoot.tools.consent import ConsentStore
from folkmoot.tools.wanted import wanted_items

_PATIENCE = 5.0
"""Seconds."""


def examine_remotes(folder: Path, graph: Graph) -> Iterator[Finding]:
    """Nobody is asked whose address was not trusted."""
    remote = [agent for agent in graph.agents.values() if agent.remote]
    if remote and not ConsentStore().missing(folder, wanted_items(folder, graph)):
        yield from asyncio.run(_looked_at(folder, graph, remote))


async def _looked_at(folder: Path, graph: Graph, remote: list[Agent]) -> list[Finding]:
    models = ProviderModels(graph.settings.providers, os.environ, folder)
    try:
        return list(await asyncio.gather(*(_look(models, agent) for agent in remote)))
    finally:
        await models.aclose()


async def _look(models: ProviderModels, agent: Agent) -> Finding:
    what = f"remote agent {agent.file}"
    try:
        async with asyncio.timeout(_PATIENCE):
            return Finding(what, "ok", await models.remote_card(agent.models[0]))
    except ModelFailed as error:
        return Finding(what, "warning", str(error))
    except TimeoutError:
        return Finding(what, "warning", f"no answer within {_PATIENCE:g} s")
