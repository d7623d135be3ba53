"""What comes back from the messages API: the same answer in one piece or block by block."""

import pytest

from folkmoot.domain.message import Answer, Message, ToolCall, Usage
from folkmoot.errors import ModelFailed
from tests.models.provider import STREAM, Do, answered, asking, chunk, event, streamed

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 200,
    "cache_creation_input_tokens": 30,
    "output_tokens": 7,
}


def message(*blocks, stop="end_turn", usage=USAGE, **more):
    return {"type": "message", "content": list(blocks), "stop_reason": stop, "usage": usage, **more}


def text(words):
    return {"type": "text", "text": words}


def start(usage=USAGE):
    return {"type": "message_start", "message": {"content": [], "usage": usage | {"output_tokens": 1}}}


def block(index, **content):
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stop(reason="end_turn", **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


END = {"type": "message_stop"}


async def said(model, provider, play, listening=False):
    provider.plays = [play]
    heard = []
    answer = await model.answer(asking(), heard.append if listening else None)
    return (answer, "".join(heard)) if listening else answer


async def test_all_input_is_counted_whether_a_cache_had_it_or_not(anthropic, provider):
    answer = await said(anthropic, provider, answered(message(text("fine"))))

    assert answer == Answer(Message("assistant", "fine"), Usage(240, 7, 200, 30), "end_turn")


async def test_a_stream_and_one_piece_give_the_same_answer(anthropic, provider):
    whole = message(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text("Grüße 😀"),
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"what": "ä", "n": [1, None]}},
        {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
        text("Ende"),
        stop="tool_use",
    )
    pieces = [
        start(),
        {"type": "ping"},
        block(0, type="thinking", thinking=""),
        delta(0, type="thinking_delta", thinking="hm"),
        delta(0, type="signature_delta", signature="s"),
        {"type": "content_block_stop", "index": 0},
        block(1, type="text", text="Gr"),
        delta(1, type="text_delta", text="üße "),
        delta(1, type="text_delta", text="😀"),
        block(2, type="tool_use", id="c1", name="look", input={}),
        *[
            delta(2, type="input_json_delta", partial_json=letter)
            for letter in '{"what": "ä", "n": [1, null]}'
        ],
        block(3, type="tool_use", id="c2", name="now", input={}),
        delta(3, type="input_json_delta", partial_json=""),
        block(4, type="text", text=""),
        delta(4, type="text_delta", text="Ende"),
        stop("tool_use", output_tokens=7),
        END,
    ]

    expected = await said(anthropic, provider, answered(whole))
    provider.asked.clear()
    answer, heard = await said(anthropic, provider, streamed(*pieces), listening=True)

    assert answer == expected
    assert answer.message.text == heard == "Grüße 😀Ende"
    assert answer.message.calls == (
        ToolCall("c1", "look", {"what": "ä", "n": [1, None]}),
        ToolCall("c2", "now"),
    )


@pytest.mark.parametrize(
    "play",
    [
        streamed(start(), block(0, type="text", text="half")),
        [*streamed(start(), block(0, type="text", text="half"), end=False), Do.CLOSE],
        [STREAM, chunk(event(start())), chunk(b'data: {"type": "content_bl'), b"0\r\n\r\n"],
        streamed(),
    ],
)
async def test_a_stream_without_its_end_is_no_answer(anthropic, provider, play):
    with pytest.raises(ModelFailed, match="fake broke off in the middle of its answer") as caught:
        await said(anthropic, provider, play, listening=True)

    assert caught.value.retryable


async def test_a_finished_answer_counts_even_if_the_connection_breaks_after_it(anthropic, provider):
    play = [*streamed(start(), block(0, type="text", text="fine"), stop(), end=False), Do.RESET]

    answer, _ = await said(anthropic, provider, play, listening=True)

    assert answer.message.text == "fine"


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        ("overloaded_error", True),
        ("api_error", True),
        ("rate_limit_error", True),
        ("invalid_request_error", False),
    ],
)
@pytest.mark.parametrize("listening", [False, True])
async def test_an_error_inside_a_good_status_is_an_error(anthropic, provider, kind, retryable, listening):
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    play = streamed(start(), error) if listening else answered(error)

    with pytest.raises(ModelFailed, match="fake broke off with an error: Overloaded") as caught:
        await said(anthropic, provider, play, listening)

    assert caught.value.retryable is retryable


async def test_an_overloaded_provider_is_named_as_such(anthropic, provider):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    with pytest.raises(ModelFailed, match="fake answered 529 Overloaded: Overloaded") as caught:
        await said(anthropic, provider, answered(error, 529, retry_after="3"))

    assert (caught.value.retryable, caught.value.retry_after) == (True, 3.0)


@pytest.mark.parametrize(
    ("given", "arguments", "malformed"),
    [
        ({"a": "x\0y"}, {"a": "x�y"}, ""),
        (None, {}, ""),
        ([1], {}, "[1]"),
        ("text", {}, "text"),
        ({"a": [[[[0]]]]}, {"a": [[[[0]]]]}, ""),
    ],
)
async def test_arguments_are_an_object_or_kept_as_they_came(anthropic, provider, given, arguments, malformed):
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": given}

    answer = await said(anthropic, provider, answered(message(use)))

    assert answer.message.calls == (ToolCall("c1", "look", arguments, malformed),)


async def test_arguments_that_break_off_are_kept_as_they_came(anthropic, provider):
    pieces = [
        start(),
        block(0, type="tool_use", id="c1", name="look", input={}),
        delta(0, type="input_json_delta", partial_json='{"what": "'),
        stop("max_tokens"),
        END,
    ]

    answer, _ = await said(anthropic, provider, streamed(*pieces), listening=True)

    assert answer.message.calls == (ToolCall("c1", "look", {}, '{"what": "'),)
    assert answer.stop == "max_tokens"


async def test_arguments_that_come_at_once_are_taken(anthropic, provider):
    pieces = [start(), block(0, type="tool_use", id="c1", name="look", input={"what": "a"}), stop(), END]

    answer, _ = await said(anthropic, provider, streamed(*pieces), listening=True)

    assert answer.message.calls == (ToolCall("c1", "look", {"what": "a"}),)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"input_tokens": -1, "output_tokens": None}, Usage()),
        ({"input_tokens": 0, "output_tokens": 9}, Usage()),
        ({"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2}, Usage(5, 2)),
    ],
)
async def test_usage_is_counted_as_far_as_it_makes_sense(anthropic, provider, usage, expected):
    assert (await said(anthropic, provider, answered(message(text("fine"), usage=usage)))).usage == expected


async def test_later_counts_of_a_stream_replace_earlier_ones(anthropic, provider):
    pieces = [
        start(),
        block(0, type="text", text="fine"),
        stop(output_tokens=9, cache_read_input_tokens=0),
        END,
    ]

    answer, _ = await said(anthropic, provider, streamed(*pieces), listening=True)

    assert answer.usage == Usage(40, 9, 0, 30)


async def test_a_refusal_is_an_answer_that_says_so(anthropic, provider):
    answer = await said(anthropic, provider, answered(message(stop="refusal")))

    assert (answer.message.text, answer.stop) == ("", "refusal")


async def test_a_server_that_does_not_stream_is_understood_all_the_same(anthropic, provider):
    answer, heard = await said(anthropic, provider, answered(message(text("fine"))), listening=True)

    assert (answer.message.text, heard) == ("fine", "fine")


async def test_text_without_its_block_is_taken_all_the_same(anthropic, provider):
    pieces = [delta(0, type="text_delta", text="fine"), stop()]

    answer, _ = await said(anthropic, provider, streamed(*pieces), listening=True)

    assert answer.message.text == "fine"
