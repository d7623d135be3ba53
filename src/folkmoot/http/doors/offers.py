"""The agents of a project as the models that chat clients know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.providers import BUILT_IN
from folkmoot.errors import WrongUse
from folkmoot.http.doors.conversation import Sight
from folkmoot.http.doors.wrong import Wrong
from folkmoot.models.transcript import sight_of
from folkmoot.orchestration.brought import facing


def offers(moot: Folkmoot) -> dict[str, Agent]:
    """By what they are called: their ids, or their paths where several have the same."""
    agents = moot.graph.agents.values()
    shared = Counter(agent.id for agent in agents)
    return {agent.id if shared[agent.id] == 1 else agent.file.removesuffix(".ai"): agent for agent in agents}


def offered(moot: Folkmoot, model: str) -> Agent:
    """An agent by what it is offered as, or by its file. Raises `Wrong`."""
    known = offers(moot)
    if agent := known.get(model):
        return agent
    try:
        return moot.agent(model)
    except WrongUse as error:
        names = ", ".join(known)
        raise Wrong(
            404,
            f"there is no model {model!r}; the models here are the agents: {names}",
            param="model",
            code="model_not_found",
        ) from error


def sight(moot: Folkmoot, agent: Agent) -> Sight:
    """Of all that may come to speak with the client: no images, if one of them surely takes none; files for half of the
    smallest context window."""
    agents = [*facing(moot.graph, agent)]
    windows = [choice.context_window for one in agents for choice in one.models]
    return Sight(_takes_images(moot, agents), min(windows) // 2) if windows else Sight()


def _takes_images(moot: Folkmoot, agents: Sequence[Agent]) -> bool | None:
    providers = {**BUILT_IN, **moot.graph.settings.providers}
    takes = [
        [
            sight_of(providers[choice.provider]) if choice.provider in providers else None
            for choice in one.models
        ]
        for one in agents
    ]
    if any(models and all(sees is False for sees in models) for models in takes):
        return False
    return True if all(sees for models in takes for sees in models) else None


def name_of(moot: Folkmoot, file: str) -> str:
    """What an agent is offered as; its file, if it is not there any more."""
    return next((name for name, agent in offers(moot).items() if agent.file == file), file)
