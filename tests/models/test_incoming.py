"""Whatever a server sends, an answer that can be stored comes out of it, or a failure that says so."""

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from folkmoot.domain.message import Answer
from folkmoot.domain.text import storable
from folkmoot.errors import DeclarationError, ModelFailed
from folkmoot.models.anthropic import MessageStream, read_message
from folkmoot.models.http import ModelEndpoint, Pool
from folkmoot.models.incoming import DEEPEST, sound, tool_call
from folkmoot.models.openai import CompletionStream, read_completion
from folkmoot.models.script import read_script_file

ENDPOINT = ModelEndpoint(Pool(), "fake", "http://127.0.0.1:1/v1", headers={}, secret="key-4711", proxy=None)
SAMPLES = [
    {
        "choices": [
            {
                "message": {
                    "content": "fine",
                    "refusal": None,
                    "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"a": [1, "b"]}'}}],
                },
                "delta": {
                    "content": "fi",
                    "tool_calls": [{"index": 0, "id": "c1", "function": {"arguments": "{"}}],
                },
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 1}},
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content": [{"type": "text", "text": "fine"}, {"type": "tool_use", "id": "c", "name": "l", "input": {"a": 1}}],
        "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        "delta": {"type": "text_delta", "text": "fi", "stop_reason": "end_turn"},
        "message": {"usage": {"input_tokens": 5}},
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    },
]  # fmt: skip

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def bodies(draw):
    """A good body with some places replaced, then with some bytes replaced."""
    value = json.loads(json.dumps(draw(st.sampled_from(SAMPLES))))
    for _ in range(draw(st.integers(0, 3))):
        place = value
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or draw(st.booleans()):
                place[key] = draw(anything)
                break
            place = place[key]
    raw = bytearray(json.dumps(value).encode())
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 5))] = draw(st.binary(max_size=5))
    return bytes(raw)


def check(answer):
    """It survives a journal, and nothing in it must be cleaned again."""
    raw = msgspec.json.encode(answer)
    assert msgspec.json.decode(raw, type=Answer) == answer
    assert storable(answer.message.text) == answer.message.text
    assert sound([call.arguments for call in answer.message.calls]) == [
        call.arguments for call in answer.message.calls
    ]
    assert min(msgspec.structs.astuple(answer.usage)) >= 0


@pytest.mark.parametrize("read", [read_completion, read_message])
@settings(max_examples=150, deadline=None)
@given(body=bodies() | st.binary(max_size=50))
def test_every_body_is_an_answer_or_a_failure(read, body):
    with suppress(ModelFailed):
        check(read(ENDPOINT, body))


@pytest.mark.parametrize("stream", [CompletionStream, MessageStream])
@settings(max_examples=100, deadline=None)
@example(pieces=[b'{"choices": "\\ud800", "usage": "\\ud800"}'])
@example(pieces=[b"[" * 5000])
@example(
    pieces=[b'{"choices": [{"\\ud800": 0, "finish_reason": "\\ud800"}], "delta": {"stop_reason": "\\ud800"}}']
)
@given(pieces=st.lists(bodies(), max_size=4))
def test_every_stream_is_an_answer_or_a_failure(stream, pieces):
    spoken = []
    heard = stream(ENDPOINT, spoken.append)
    with suppress(ModelFailed):
        for piece in pieces:
            heard.take(piece)
        check(heard.answer())
    assert all(storable(one) == one for one in spoken)


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.sampled_from(list("ab:{}[]-&*!|>'\"#,? \n\t0.é\0"))) | st.binary(max_size=40))
def test_every_file_is_a_script_or_a_list_of_problems(text, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "answers.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with suppress(DeclarationError):
        read_script_file(file.parent, file.name)


def test_arguments_may_be_nested_as_deep_as_any_encoder_likes():
    def nested(depth):
        return "[" * depth + "]" * depth

    assert tool_call("", "t", f'{{"a": {nested(DEEPEST - 1)}}}').malformed == ""
    assert tool_call("", "t", f'{{"a": {nested(DEEPEST + 1)}}}').malformed != ""
    assert tool_call("", "t", json.loads(f'{{"a": {nested(DEEPEST + 1)}}}')).malformed != ""


def test_arguments_that_nobody_could_write_down_are_malformed_all_the_same():
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}

    assert tool_call("", "t", deep).malformed == "(nested too deeply to be shown)"
