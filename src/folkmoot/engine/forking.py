"""The project of a fork: that of the run it is taken from, with what the fork changes."""

from __future__ import annotations

from folkmoot.domain.agent import Graph
from folkmoot.engine.admission import find_agent
from folkmoot.engine.fork import Fork, changed
from folkmoot.loader.models import choice_named
from folkmoot.models.known import known_models


def changed_graph(graph: Graph, fork: Fork) -> Graph:
    """Raises `WrongUse` for an agent or a model that there is not."""
    agents = {name: find_agent(graph, name) for name in (*fork.prompts, *fork.models)}
    known = known_models()
    models = {
        name: choice_named(model, graph.settings, known, f"the model for {name}")
        for name, model in fork.models.items()
    }
    return changed(graph, fork, agents, models)
