"""Who acts is known by an account, by a name that is no agent's, or by a call."""

import pytest

from folkmoot.domain.agent import Agent, Graph
from folkmoot.errors import WrongUse
from folkmoot.operations.actor import by_account, by_call, by_name
from folkmoot.ports import Site

GRAPH = Graph({"coder.ai": Agent("coder", "coder.ai", "")})


@pytest.mark.parametrize("name", ["coder", "folkmoot", ""])
def test_nobody_speaks_for_an_agent_nor_for_the_runtime(name):
    with pytest.raises(WrongUse) as refused:
        by_name(name, GRAPH, "http")

    assert refused.value.code == "bad_value"


def test_an_actor_says_how_it_is_known():
    site = Site("run-1", "run-1", "0", 1, 2, agent="coder", work_session="ws_1")
    actors = [by_account("terminal"), by_name("ann", GRAPH, "page"), by_call(site)]

    assert [(actor.kind, actor.via, actor.proof) for actor in actors] == [
        ("person", "terminal", "account"),
        ("person", "page", "name"),
        ("agent", "tool", "call"),
    ]
    assert [actor.author().is_agent for actor in actors] == [False, False, True]
    assert actors[2].author().work_session == "ws_1"
    assert actors[1].author("ws_2").work_session == "ws_2"
