"""One attempt at a remote agent, which the official SDK serves: what is sent, what comes back, what goes wrong."""

import asyncio
import socket

import pytest
from msgspec.structs import replace

from folkmoot.domain.agent import Tuning
from folkmoot.domain.message import Message
from folkmoot.errors import ModelFailed
from folkmoot.models.a2a import Bounded, RemoteAgent
from folkmoot.ports import Request
from tests.remote_agent import TOKEN, Helper, application, card, served, serving


@pytest.fixture
def helper():
    return Helper()


def asked(text, *, session="run-1:sub_helper_1", again=False, told=""):
    system = (Message(role="system", text=told),) if told else ()
    return Request(
        model="a2a",
        messages=(*system, Message(role="user", text=text)),
        tools=(),
        tuning=Tuning(),
        max_output=100,
        agent="helper",
        session=session,
        turn=1,
        again=again,
    )


async def no_pause(seconds):
    await asyncio.sleep(0)


async def answered(url, request, hear=None, **more):
    remote = RemoteAgent("remote:helper.ai", url, **more, sleep=no_pause)
    try:
        return (await remote.answer(request, hear)).message.text
    finally:
        await remote.aclose()


@pytest.mark.parametrize("streaming", [True, False])
async def test_its_report_is_what_the_other_side_made(helper, streaming):
    async with serving(helper, streaming=streaming) as url:
        assert (
            await answered(url, asked("What is the policy?", told="Be brief."))
            == "The policy is thirty days."
        )

    assert helper.texts == [["Be brief.", "What is the policy?"]]


async def test_what_it_says_comes_piece_by_piece(helper):
    pieces = []
    async with serving(helper) as url:
        await answered(url, asked("What is the policy?"), pieces.append)

    assert pieces == ["The policy is ", "thirty days."]


async def test_a_message_alone_and_data_are_reports_too(helper):
    async with serving(helper) as url:
        assert await answered(url, asked("just say it")) == "Said at once."
        assert await answered(url, asked("as data")) == '{"n": 4}'


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("do it badly", "remote:helper.ai failed: the line is dead"),
        (
            "ask me",
            "remote:helper.ai asks back, and a remote agent is told no more than its request: Which one?",
        ),
        ("say nothing", "remote:helper.ai is done, and said nothing"),
    ],
)
async def test_whoever_gives_no_report_has_failed_for_good(helper, wanted, words):
    async with serving(helper) as url:
        with pytest.raises(ModelFailed) as failed:
            await answered(url, asked(wanted))

    assert (str(failed.value), failed.value.retryable) == (words, False)
    assert len(helper.cancelled) == (wanted == "ask me")


async def test_who_stops_waiting_cancels_the_task_there(helper):
    async with serving(helper) as url:
        waiting = asyncio.create_task(answered(url, asked("slowly")))
        await helper.began.wait()
        waiting.cancel()
        await asyncio.wait({waiting})

    assert waiting.cancelled()
    assert len(helper.cancelled) == 1


@pytest.mark.parametrize("streaming", [True, False])
async def test_what_may_have_been_sent_before_is_looked_for_first(helper, streaming):
    """C3: the process died while the other side worked; it is asked for the outcome, not for the work."""
    async with serving(helper, streaming=streaming) as url:
        lost = RemoteAgent("remote:helper.ai", url, sleep=no_pause)
        waiting = asyncio.create_task(lost.answer(asked("slowly")))
        await helper.began.wait()
        await lost.aclose()  # as if the process had been killed: there is no way to say goodbye
        waiting.cancel()
        await asyncio.wait({waiting})
        helper.may_end.set()

        assert await answered(url, asked("slowly", again=True)) == "The policy is thirty days."
        assert len(helper.heard) == 1
        await answered(url, asked("slowly", session="another", again=True))
        assert len(helper.heard) == 2


async def test_what_was_cancelled_is_asked_anew_under_another_name(helper):
    async with serving(helper) as url:
        waiting = asyncio.create_task(answered(url, asked("slowly")))
        await helper.began.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        helper.may_end.set()

        assert await answered(url, asked("slowly", again=True)) == "The policy is thirty days."

    one, other = helper.heard
    assert one.message_id != other.message_id
    assert one.context_id == other.context_id


async def test_the_names_of_a_request_follow_from_its_place(helper):
    for _ in range(2):
        async with serving(helper) as url:
            await answered(url, asked("What is the policy?"))

    one, other = helper.heard
    assert (one.message_id, one.context_id) == (other.message_id, other.context_id)


async def test_the_other_side_is_told_how_often_the_matter_was_passed_on(helper):
    async with serving(helper) as url:
        await answered(url, replace(asked("policy?"), hops=2))

    assert dict(helper.heard[0].metadata) == {"folkmoot/hops": 3}


async def test_what_it_is_says_its_card(helper):
    async with serving(helper) as url:
        remote = RemoteAgent("remote:helper.ai", url)
        assert await remote.described() == "helper: Knows the policy."
        await remote.aclose()


async def test_it_shows_its_token_and_says_so_if_that_is_not_taken(helper):
    async with serving(helper, token=TOKEN) as url:
        assert await answered(url, asked("policy?"), token=TOKEN) == "The policy is thirty days."
        for token, words in (("", "it wants a token"), ("wrong-token", "does not take the token")):
            with pytest.raises(ModelFailed, match=words) as failed:
                await answered(url, asked("policy?"), token=token)
            assert not failed.value.retryable
            assert "wrong-token" not in str(failed.value)


async def test_a_card_cannot_send_the_token_elsewhere(helper):
    async with served(lambda url: application(helper, card("http://elsewhere.example:1/"), TOKEN)) as url:
        with pytest.raises(
            ModelFailed, match=r"is asked elsewhere, says its card .* http://elsewhere.example:1/"
        ):
            await answered(url, asked("policy?"), token=TOKEN)

    assert helper.heard == []


async def test_who_is_not_there_may_be_asked_again():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(
            ModelFailed, match=r"remote:helper.ai could not be reached at http://127"
        ) as failed:
            await answered(url, asked("policy?"))

    assert failed.value.retryable


async def test_an_answer_without_end_is_not_read_to_it(helper, monkeypatch):
    monkeypatch.setattr(Bounded, "largest", 100)
    async with serving(helper) as url:
        with pytest.raises(ModelFailed, match="the answer has more than 0 MB"):
            await answered(url, asked("policy?"))
