"""What comes back from chat completions: the same answer in one piece or in many, whatever a server makes of it."""

import json

import pytest
from msgspec.structs import replace

from folkmoot.domain.message import Answer, Message, ToolCall, Usage
from folkmoot.errors import ModelFailed
from tests.models.provider import KEY, STREAM, Do, answered, asking, chunk, event, streamed

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def completion(message, finish="stop", usage=USAGE, **more):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **more}


def wished(*calls):
    """Calls as (id, name, raw arguments)."""
    return [
        {"id": id, "type": "function", "function": {"name": name, "arguments": raw}}
        for id, name, raw in calls
    ]


def delta(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}


async def said(model, provider, play, listening=False):
    provider.plays = [play]
    heard = []
    answer = await model.answer(asking(), heard.append if listening else None)
    return (answer, "".join(heard)) if listening else answer


async def test_an_answer_with_text_and_usage(openai, provider):
    answer = await said(openai, provider, answered(completion({"content": "fine"})))

    assert answer == Answer(Message("assistant", "fine"), Usage(100, 20, 60), "stop")


async def test_an_answer_with_calls(openai, provider):
    calls = wished(("c1", "look", '{"what": "a"}'), ("c2", "now", ""), ("c3", "now", "{}"))

    answer = await said(
        openai, provider, answered(completion({"content": None, "tool_calls": calls}, "tool_calls"))
    )

    assert answer.message == Message(
        "assistant", "", (ToolCall("c1", "look", {"what": "a"}), ToolCall("c2", "now"), ToolCall("c3", "now"))
    )
    assert answer.stop == "tool_calls"


async def test_a_stream_and_one_piece_give_the_same_answer(openai, provider):
    text, first, second = "Grüße 😀\u2028Ende", '{"what": "ä\\u2028"}', '{"n": [1, 2.5, null]}'
    message = {"content": text, "tool_calls": wished(("c1", "look", first), ("c2", "count", second))}
    pieces = [
        delta(role="assistant", content=""),
        *[delta(content=letter) for letter in text],
        delta(
            tool_calls=[
                {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}
            ]
        ),
        *[delta(tool_calls=[{"index": 0, "function": {"arguments": letter}}]) for letter in first],
        delta(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "count", "arguments": second[:5]}}]),
        delta(tool_calls=[{"index": 1, "function": {"arguments": second[5:]}}]),
        delta("tool_calls"),
        {"choices": [], "usage": USAGE},
        b"[DONE]",
    ]

    whole = await said(openai, provider, answered(completion(message, "tool_calls")))
    provider.asked.clear()
    in_pieces, heard = await said(openai, provider, streamed(*pieces), listening=True)

    assert in_pieces == whole
    assert heard == text


async def test_a_stream_may_come_byte_by_byte(openai, provider):
    raw = b"".join(map(event, (delta(content="grü"), delta("stop", content="ß"), b"[DONE]")))
    play = [STREAM, *[chunk(raw[at : at + 1]) for at in range(len(raw))], b"0\r\n\r\n"]

    answer, heard = await said(openai, provider, play, listening=True)

    assert (answer.message.text, heard) == ("grüß", "grüß")


async def test_a_server_that_does_not_stream_is_understood_all_the_same(openai, provider):
    answer, heard = await said(openai, provider, answered(completion({"content": "fine"})), listening=True)

    assert (answer.message.text, heard) == ("fine", "fine")


async def test_a_stream_under_another_content_type_is_understood_all_the_same(openai, provider):
    raw = event(delta("stop", content="fine")) + b"data: [DONE]"

    answer, heard = await said(openai, provider, answered(raw, content_type="text/plain"), listening=True)

    assert (answer.message.text, heard) == ("fine", "fine")


@pytest.mark.parametrize("ending", [[delta("stop")], [b"[DONE]"], [delta("stop"), b"[DONE]"]])
async def test_either_sign_of_the_end_ends_a_stream(openai, provider, ending):
    answer, _ = await said(openai, provider, streamed(delta(content="fine"), *ending), listening=True)

    assert answer.message.text == "fine"


async def test_a_finished_answer_counts_even_if_the_connection_breaks_after_it(openai, provider):
    play = [*streamed(delta("stop", content="fine"), end=False), Do.RESET]

    answer, _ = await said(openai, provider, play, listening=True)

    assert answer.message.text == "fine"


@pytest.mark.parametrize(
    "play",
    [
        streamed(delta(content="half")),
        [*streamed(delta(content="half"), end=False), Do.CLOSE],
        [*streamed(delta(content="half"), end=False), Do.RESET],
        [STREAM, chunk(event(delta(content="half"))), chunk(b'data: {"choices": [{"del'), b"0\r\n\r\n"],
        streamed(),
    ],
)
async def test_a_stream_without_its_end_is_no_answer(openai, provider, play):
    with pytest.raises(ModelFailed, match="fake broke off in the middle of its answer") as caught:
        await said(openai, provider, play, listening=True)

    assert caught.value.retryable


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"message": "overloaded", "code": 503}, True),
        ({"message": "slow down", "type": "rate_limit_exceeded"}, True),
        ({"message": "too long", "code": "context_length_exceeded"}, False),
        ({"message": "who are you", "code": 401}, False),
        ("something", True),
    ],
)
@pytest.mark.parametrize("listening", [False, True])
async def test_an_error_inside_a_good_status_is_an_error(openai, provider, error, retryable, listening):
    play = streamed(delta(content="ha"), {"error": error}) if listening else answered({"error": error})

    with pytest.raises(ModelFailed, match="fake broke off with an error: ") as caught:
        await said(openai, provider, play, listening)

    assert caught.value.retryable is retryable


async def test_no_key_is_repeated_from_inside_a_stream(openai, provider):
    with pytest.raises(ModelFailed) as caught:
        await said(openai, provider, streamed({"error": {"message": f"bad {KEY}"}}), listening=True)

    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({}, ""),
        ({"content": ""}, ""),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]},
            "ab",
        ),
        ({"content": ["a", None, "b"]}, "ab"),
        ({"content": 5}, ""),
        ({"content": "fine", "reasoning_content": "hm", "annotations": [], "audio": None}, "fine"),
    ],
)
async def test_text_is_taken_from_whatever_form_it_has(openai, provider, message, text):
    answer = await said(openai, provider, answered(completion(message)))

    assert replace(answer.message, thoughts=()) == Message("assistant", text)


@pytest.mark.parametrize("listening", [False, True])
async def test_a_refusal_is_an_answer_that_says_so(openai, provider, listening):
    message = {"content": None, "refusal": "I would rather not."}
    play = (
        streamed(delta(refusal="I would "), delta("stop", refusal="rather not."))
        if listening
        else answered(completion(message))
    )

    answer = await said(openai, provider, play, listening)

    answer = answer[0] if listening else answer
    assert (answer.message.text, answer.stop) == ("I would rather not.", "refusal")


@pytest.mark.parametrize("finish", ["length", "content_filter", "something_new", None, 7])
async def test_every_reason_to_stop_is_passed_on(openai, provider, finish):
    answer = await said(openai, provider, answered(completion({"content": "fine"}, finish)))

    assert answer.stop == (finish if isinstance(finish, str) else "")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": "7"}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 7}, Usage()),
        ({"prompt_tokens": 10.0, "completion_tokens": True}, Usage(10, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(10, 3)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(10, 0, 10)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4}, Usage(10, 0, 4)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 9}}, Usage(10, 0, 4, 6)),
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20}, Usage(10, 10)),
        ({"prompt_tokens": 10**40, "completion_tokens": 1}, Usage(2**53, 1)),
    ],
)  # fmt: skip
async def test_usage_is_counted_as_far_as_it_makes_sense(openai, provider, usage, expected):
    answer = await said(openai, provider, answered(completion({"content": "fine"}, usage=usage)))

    assert answer.usage == expected


@pytest.mark.parametrize(
    ("cost", "expected"), [(0.25, 0.25), (0, 0.0), (-1, None), ("1", None), ({"total": 1}, None)]
)
async def test_a_cost_that_the_provider_names_is_passed_on(openai, provider, cost, expected):
    answer = await said(
        openai, provider, answered(completion({"content": "fine"}, usage=USAGE | {"cost": cost}))
    )

    assert answer.cost_usd == expected


async def test_another_models_name_and_unknown_fields_do_not_matter(openai, provider):
    answer = await said(
        openai, provider, answered(completion({"content": "fine"}, model="other", new={"a": [1]}))
    )

    assert answer.message.text == "fine"


@pytest.mark.parametrize(
    ("raw", "arguments", "malformed"),
    [
        ('{"a": 1}', {"a": 1}, ""),
        ("", {}, ""),
        (None, {}, ""),
        ({"a": 1}, {"a": 1}, ""),
        ("{", {}, "{"),
        ("[1]", {}, "[1]"),
        ('"text"', {}, '"text"'),
        ("null", {}, "null"),
        ("{'a': 1}", {}, "{'a': 1}"),
        ('{"a": 1} {"b": 2}', {}, '{"a": 1} {"b": 2}'),
        ([1], {}, "[1]"),
        ('{"a": NaN, "b": -Infinity, "c": 1e999}', {"a": None, "b": None, "c": None}, ""),
        ('{"a": "x\\u0000y\\ud800z", "\\u0000": 1}', {"a": "x�y�z", "�": 1}, ""),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}, ""),
        ('{"a": "\u2028"}', {"a": "\u2028"}, ""),
        ('{"a": 1, "a": 2}', {"a": 2}, ""),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}, ""),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", {}, '{"a": ' + "[" * 70 + "]" * 70 + "}"),
        ("[" * 100_000, {}, "[" * 100_000),
        ('{"a": "' + "[" * 1000 + '"}', {"a": "[" * 1000}, ""),
    ],
)
@pytest.mark.parametrize("listening", [False, True])
async def test_arguments_are_an_object_or_kept_as_they_came(
    openai, provider, raw, arguments, malformed, listening
):
    calls = wished(("c1", "look", raw))
    play = (
        streamed(delta("tool_calls", tool_calls=[{"index": 0, **calls[0]}]))
        if listening
        else answered(completion({"tool_calls": calls}))
    )

    answer = await said(openai, provider, play, listening)

    answer = answer[0] if listening else answer
    assert answer.message.calls == (ToolCall("c1", "look", arguments, malformed),)


async def test_empty_and_doubled_ids_are_kept_for_the_session_to_see(openai, provider):
    calls = wished(
        ("", "look", "{}"), ("x", "look", "{}"), ("x", "look", "{}"), (None, "look", "{}"), (7, "look", "{}")
    )

    answer = await said(openai, provider, answered(completion({"tool_calls": calls})))

    assert [call.id for call in answer.message.calls] == ["", "x", "x", "", "7"]


async def test_a_stream_that_numbers_its_calls_badly_is_sorted_by_their_ids(openai, provider):
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"what":"a"}'}}
    second = {"index": 0, "id": "c2", "function": {"name": "look", "arguments": '{"what":"b"}'}}
    third = {"id": "c3", "function": {"name": "look", "arguments": {"what": "c"}}}

    answer, _ = await said(
        openai,
        provider,
        streamed(delta(tool_calls=[first]), delta(tool_calls=[second, third]), delta("stop")),
        True,
    )

    assert [(call.id, call.arguments["what"]) for call in answer.message.calls] == [
        ("c1", "a"),
        ("c2", "b"),
        ("c3", "c"),
    ]


@pytest.mark.parametrize("listening", [False, True])
async def test_a_thousand_calls_are_a_thousand_calls(openai, provider, listening):
    calls = wished(*((f"c{n}", "look", f'{{"n": {n}}}') for n in range(1000)))
    play = (
        streamed(*(delta(tool_calls=[{"index": n, **one}]) for n, one in enumerate(calls)), delta("stop"))
        if listening
        else answered(completion({"tool_calls": calls}))
    )

    answer = await said(openai, provider, play, listening)

    answer = answer[0] if listening else answer
    assert [call.arguments["n"] for call in answer.message.calls] == list(range(1000))


@pytest.mark.parametrize("listening", [False, True])
async def test_ten_megabytes_are_an_answer(openai, provider, listening):
    text = "ä" * 5_000_000
    raw = json.dumps(completion({"content": text}), ensure_ascii=False).encode()
    play = (
        streamed(json.dumps(delta("stop", content=text), ensure_ascii=False).encode())
        if listening
        else answered(raw)
    )

    answer = await said(openai, provider, play, listening)

    answer = answer[0] if listening else answer
    assert answer.message.text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'"a\\u0000b"', "a�b"),
        (b'"a\\ud800b"', "a�b"),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"a\xffb"', "a�b"),
        (b'"a\x00b"', "a�b"),
        ('"a\u2028b"'.encode(), "a\u2028b"),
    ],
)
@pytest.mark.parametrize("more", [b"", b', "x": NaN'])
@pytest.mark.parametrize("listening", [False, True])
async def test_text_that_cannot_be_stored_is_made_storable(openai, provider, raw, text, listening, more):
    body = b'{"choices": [{"%b": {"content": %b}, "finish_reason": "stop"}]' + more + b"}"
    play = streamed(body % (b"delta", raw)) if listening else answered(body % (b"message", raw))

    answer = await said(openai, provider, play, listening)

    if listening:
        assert answer[1] == text
        answer = answer[0]
    assert answer.message.text == text


async def test_a_character_that_is_split_between_two_pieces_is_whole_again(openai, provider):
    half = b'{"choices": [{"delta": {"content": "%b"}, "finish_reason": %b}]}'

    answer, heard = await said(
        openai,
        provider,
        streamed(half % (b"a\\ud83d", b"null"), half % (b"\\ude00b", b'"stop"')),
        listening=True,
    )

    assert answer.message.text == heard == "a😀b"


async def test_a_bare_line_break_inside_a_string_does_not_matter(openai, provider):
    answer = await said(openai, provider, answered(b'{"choices": [{"message": {"content": "a\nb"}}]}'))

    assert answer.message.text == "a\nb"


async def test_a_byte_order_mark_does_not_matter(openai, provider):
    raw = b"\xef\xbb\xbf" + json.dumps(completion({"content": "fine"})).encode()

    assert (await said(openai, provider, answered(raw))).message.text == "fine"


@pytest.mark.parametrize(
    "body", [{"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": [{"message": None}]}]
)
async def test_without_a_choice_there_is_no_answer(openai, provider, body):
    with pytest.raises(ModelFailed, match="no choices") as caught:
        await said(openai, provider, answered(body))

    assert caught.value.retryable
