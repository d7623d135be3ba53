"""The model that answers from a journal."""

import pytest

from folkmoot.domain.agent import Tuning
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmFailed, LlmResponse
from folkmoot.domain.message import Message, Usage
from folkmoot.errors import ModelFailed
from folkmoot.models.recorded import RecordedModel
from folkmoot.ports import Request


def said(session, turn, text, attempt=1, **more):
    event = LlmResponse(turn, attempt, "p/m", Message("assistant", text), Usage(7, 3), 0.5, "stop", **more)
    return Draft("", event, session)


DRAFTS = [
    said("run-1:b", 1, "b one"),
    said("run-1:a", 1, "a one"),
    Draft("", LlmFailed(2, 1, "p/m", "overloaded", True, 1.5), "run-1:a"),
    said("run-1:a", 2, "a two", attempt=2),
    said("run-1:a", 3, "guessed", guessed=True),
]


def asked(session, turn, attempt=1):
    return Request(
        model="m",
        messages=(),
        tools=(),
        tuning=Tuning(),
        max_output=1,
        agent="a",
        session=session,
        turn=turn,
        attempt=attempt,
    )


async def test_an_answer_is_found_by_who_asks_and_never_by_the_order():
    """DESIGN 6: session, turn and attempt."""
    model = RecordedModel(DRAFTS)
    texts = [
        (await model.answer(asked(*each))).message.text
        for each in (("run-1:a", 2, 2), ("run-1:a", 1), ("run-1:b", 1), ("run-1:a", 1))
    ]

    assert texts == ["a two", "a one", "b one", "a one"]


async def test_what_it_cost_comes_again_and_what_was_guessed_is_guessed_again():
    model = RecordedModel(DRAFTS)
    answer = await model.answer(asked("run-1:a", 1))

    assert (answer.usage, answer.cost_usd, answer.stop) == (Usage(7, 3), 0.5, "stop")
    assert (await model.answer(asked("run-1:a", 3))).usage == Usage()


async def test_a_failure_comes_again_and_what_is_not_recorded_is_one():
    model = RecordedModel(DRAFTS)
    with pytest.raises(ModelFailed, match="overloaded") as failed:
        await model.answer(asked("run-1:a", 2))
    assert (failed.value.retryable, failed.value.retry_after) == (True, 1.5)
    with pytest.raises(ModelFailed, match="no answer to run-1:a, turn 9, attempt 1"):
        await model.answer(asked("run-1:a", 9))
