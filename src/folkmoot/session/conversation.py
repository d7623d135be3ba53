"""What was said in a conversation, so that another session can go on with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Event
from folkmoot.domain.message import Message, ToolSpec
from folkmoot.session.state import Brief, State, evolve, folded

DELIVERED = "(delivered)"
"""The answer to a report: a model that is sent its own call without one refuses the conversation."""
NOT_MADE = "(not made: the session ended)"
UNDER_WAY = "(under way)"


def conversation(agent: Agent, spans: Iterable[Sequence[Event]]) -> tuple[Message, ...]:
    """The messages of the sessions that held it, one after the other."""
    said: tuple[Message, ...] = ()
    for events in spans:
        state = State(_brief(agent, said))
        for event in events:
            state = evolve(state, event)
        said = answer_open_calls(state)
    return said


def sent(agent: Agent, events: Iterable[Event], model: str) -> tuple[Message, ...]:
    """What a model was sent last in a session that began its own conversation, when these events had happened."""
    return with_own_thoughts(folded(_brief(agent, ()), events).messages, model)


def with_own_thoughts(messages: tuple[Message, ...], model: str) -> tuple[Message, ...]:
    """What another model thought is no use to this one, and no provider takes the seals of another."""
    if not [message for message in messages if message.thinker and message.thinker != model]:
        return messages
    return tuple(
        message if message.thinker in ("", model) else replace(message, thoughts=()) for message in messages
    )


def interrupted(state: State) -> tuple[Message, ...]:
    """The messages of a session that waits for its calls. Which of them are done already is left out: that is
    chance, and a resumed run must say the same."""
    waits = (Message(role="tool", text=UNDER_WAY, answers=call.id) for call in state.calls)
    return (*state.messages, *waits)


def answer_open_calls(state: State) -> tuple[Message, ...]:
    """Every call has an answer, also the one that ended the session."""
    left = NOT_MADE if state.outcome is None or state.outcome.failed else DELIVERED
    answers = (
        Message(role="tool", text=state.results.get(position, left), answers=call.id)
        for position, call in enumerate(state.calls, start=1)
    )
    return (*state.messages, *answers)


def _brief(agent: Agent, before: tuple[Message, ...]) -> Brief:
    """Only what is needed to fold: nothing is asked and nothing is called."""
    none: tuple[ToolSpec, ...] = ()
    return Brief(agent, none, none, none, 0, "", "", "", "", agent.tuning.max_turns, before=before)
