"""A session's brief and its answers, made in one line."""

import pytest

from folkmoot.domain.agent import Agent, ModelChoice, Output, Tuning
from folkmoot.domain.budget import Price
from folkmoot.domain.message import ToolSpec
from folkmoot.session.exits import Toolset, final_report, route
from folkmoot.session.state import Brief, State

FIRST = ModelChoice("p", "first", 32_000, Price(1.0, 10.0))
SECOND = ModelChoice("p", "second", 32_000, Price(1.0, 10.0))
LOOK = ToolSpec("look", "Look.", {"type": "object"}, effect="pure", access="read")
SEND = ToolSpec("send", "Send.", {"type": "object"}, effect="once", access="write")


@pytest.fixture
def begun():
    """A state of a session that has not begun; options go to the agent and its tuning."""

    def begun(*, router=False, output=Output(), models=(FIRST, SECOND), **tuning) -> State:
        agent = Agent("ann", "ann.ai", "You are Ann.", output=output, models=models, tuning=Tuning(**tuning))
        exits = (final_report(agent), *((route((("bob", "Bob."),)),) if router else ()))
        tools = (LOOK, SEND)
        return State(
            Brief(
                agent,
                Toolset(tools, exits, (*tools, *exits), 50),
                "run",
                "run",
                "0",
                "seed",
                agent.tuning.max_turns,
            )
        )

    return begun
