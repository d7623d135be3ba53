"""When a model's words are certain to be the report of the run, as a table."""

import pytest
from msgspec.structs import replace

from folkmoot.domain.agent import Output, Remote
from folkmoot.domain.budget import Allowance, Room
from folkmoot.domain.events import LlmRequest, LlmResponse, SessionStarted
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.session.decide import decide, is_report
from folkmoot.session.state import State, evolve
from tests.session.conftest import LOOK

START = SessionStarted("ann.ai", "hello")


@pytest.fixture
def bare(begun):
    """A session without tools, in a run whose client follows the words."""

    def bare(*, tools=(), aloud=True, remote=False, **options) -> State:
        state = begun(**options)
        agent = (
            replace(state.brief.agent, remote=Remote("https://a.example")) if remote else state.brief.agent
        )
        return replace(
            state,
            brief=replace(
                state.brief, agent=agent, toolset=replace(state.brief.toolset, tools=tools), aloud=aloud
            ),
        )

    return bare


@pytest.mark.parametrize(
    ("options", "certain"),
    [
        ({}, True),
        ({"output": Output("markdown")}, True),
        ({"aloud": False}, False),
        ({"tools": (LOOK,)}, False),
        ({"router": True}, False),
        ({"output": Output("json")}, False),
        ({"output": Output(claims=True)}, False),
        ({"remote": True}, False),
    ],
)
def test_words_are_the_report_if_nothing_else_can_come_of_them(bare, options, certain):
    """X-17: `agent__final_report`, or plain words where no tool is called."""
    state = evolve(bare(**options), START)
    ask = decide(state, Allowance())

    assert is_report(state) is ask.aloud is certain
    assert (ask.tools == ()) is certain, "who is offered nothing can call nothing"


def test_also_in_the_last_turn_and_when_the_request_is_repeated_after_a_crash(bare):
    state = evolve(bare(max_turns=1), START)
    ask = decide(state, Allowance())
    again = decide(evolve(state, LlmRequest(1, 1, "p/first", 4096, 5000, final=True)), Allowance())

    assert (ask.event.final, ask.aloud, ask.tools) == (True, True, ())
    assert (again.again, again.aloud, again.tools) == (True, True, ())
    assert decide(state, Allowance(requests=Room(1, "requests"))).tools == ()


def test_whoever_may_ask_back_or_has_called_something_is_offered_tools(bare):
    """Anthropic refuses a conversation with calls and without tools."""
    state = evolve(bare(), START)
    assert not decide(state, Allowance(), (LOOK,)).aloud
    assert [spec.name for spec in decide(state, Allowance(), (LOOK,)).tools] == [
        "look",
        "agent__final_report",
    ]

    called = Message("assistant", "", (ToolCall("1", "look", {}),))
    for event in (LlmRequest(1, 1, "p/first", 4096, 5000), LlmResponse(1, 1, "p/first", called, Usage())):
        state = evolve(state, event)
    assert not is_report(state)
