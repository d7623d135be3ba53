"""What can happen when an agent is called as a tool."""

from __future__ import annotations

from folkmoot.domain.event import Event
from folkmoot.domain.sources import Sources


class SubAgentSpawned(Event):
    """An agent calls another as a tool."""

    type = "sub_agent.spawned"
    parent: str
    session: str
    specialist: str
    mission_length: int
    has_custom_definition: bool = False
    hierarchy_level: int = 1


class SubAgentExecuting(Event):
    """The called agent was admitted and begins with its mission."""

    type = "sub_agent.executing"
    session: str
    max_steps: int


class SubAgentCompleted(Event):
    """The called agent's result goes back to its caller."""

    type = "sub_agent.completed"
    session: str
    success: bool
    steps_taken: int = 0
    tool_calls: int = 0
    """Made by it and everyone below it, without calls of agents."""
    not_returned: tuple[str, ...] = ()
    """The agents below it that gave no result."""
    key: str = ""
    """What the result answers, if it may be reused: a hash over agent, mission, tools and model."""
    artifact: str = ""
    """The result as its caller read it, if it may be reused."""
    sources: Sources = ()
    """What it has read, if the result may be reused."""


class SubAgentFailed(Event):
    """The called agent gave no result; its caller reads why and goes on."""

    type = "sub_agent.failed"
    session: str
    error: str
    error_type: str = ""


class CacheHit(Event):
    """A call was answered with the result of an earlier one; nothing was started."""

    type = "cache.hit"
    span: str
    """Where the called agent would have run."""
    key: str
    session: str
    """The session whose result it is."""
    artifact: str
    steps_taken: int = 0
    tool_calls: int = 0
    not_returned: tuple[str, ...] = ()
    sources: Sources = ()
    """What that session had read."""


class ResultSummarized(Event):
    """The caller reads a summary of a long result; the whole is kept."""

    type = "result.summarized"
    session: str
    length: int
    summary_length: int
    artifact: str
