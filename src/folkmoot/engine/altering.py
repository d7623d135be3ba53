"""The project of a run as a fork of it wants it: other prompts, other models."""

from __future__ import annotations

from folkmoot.domain.agent import Graph, find_agent
from folkmoot.engine.fork import Fork, changed
from folkmoot.loader.models import choice_named
from folkmoot.models.known import known_models


def altered(graph: Graph, fork: Fork) -> Graph:
    agents = {name: find_agent(graph, name) for name in (*fork.prompts, *fork.models)}
    known = known_models()
    models = {
        name: choice_named(model, graph.settings, known, f"the model for {name}")
        for name, model in fork.models.items()
    }
    return changed(graph, fork, agents, models)
