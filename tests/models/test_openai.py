"""What is sent to a server of chat completions."""

import json
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pytest

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import FREE
from folkmoot.domain.message import Message, ToolCall, ToolSpec
from folkmoot.models import openai as openai_module
from folkmoot.models.choose import ProviderModels
from folkmoot.models.outgoing import NO_RESULT
from tests.models.provider import LOOK, TALK, answered, asking, call, turns

DONE = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}


def body_of(adapter, /, **request):
    return json.loads(adapter.body(asking(**request), stream=False))


@pytest.fixture
def own():
    """OpenAI itself; nothing is sent."""
    models = ProviderModels({}, {"OPENAI_API_KEY": "key"}, Path())
    return models.choose(ModelChoice("openai", "gpt-x", 1000, FREE))


async def test_the_smallest_request(openai, provider):
    provider.plays = [answered(DONE)]

    await openai.answer(asking())

    assert provider.asked[0].path == "/v1/chat/completions"
    assert provider.asked[0].body == {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "You are kind."},
            {"role": "user", "content": "How are you?"},
        ],
        "max_tokens": 500,
    }


async def test_a_turn_with_tools_is_sent_back_as_it_was(openai, provider):
    provider.plays = [answered(DONE)]
    talk = (
        *TALK,
        Message("assistant", "I look.", (call("c1", "look", what="ä"), call("c2", "look", what="b"))),
        Message("tool", "found a", answers="c1"),
        Message("tool", "found b", answers="c2"),
    )

    await openai.answer(asking(messages=talk, tools=(LOOK,)))

    body = provider.asked[0].body
    assert body["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"what":"ä"}'}},
                {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"what":"b"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found a"},
        {"role": "tool", "tool_call_id": "c2", "content": "found b"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "look", "description": "Looks something up.", "parameters": LOOK.parameters},
        }
    ]


async def test_somebody_who_listens_gets_a_stream_with_its_usage(openai, provider):
    provider.plays = [answered(DONE)]

    await openai.answer(asking(), [].append)

    body = provider.asked[0].body
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_what_an_agent_sets_is_sent(openai):
    body = body_of(openai, temperature=0.0, top_p=0.5, top_k=3, repeat_penalty=1.1, reasoning="low")

    assert {key: body[key] for key in body.keys() - {"model", "messages", "max_tokens"}} == {
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 3,
        "repetition_penalty": 1.1,
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize("reasoning", [None, "default", "inherit"])
def test_reasoning_is_left_to_the_provider_unless_it_is_set(openai, reasoning):
    assert "reasoning_effort" not in body_of(openai, reasoning=reasoning)


def test_a_budget_for_thinking_takes_the_place_of_an_effort(openai):
    body = body_of(openai, reasoning="high", reasoning_tokens=2000)

    assert body["reasoning"] == {"max_tokens": 2000}
    assert "reasoning_effort" not in body


def test_openai_itself_is_asked_in_its_own_words(own):
    body = body_of(own, top_k=3, repeat_penalty=1.1, reasoning="high", reasoning_tokens=2000)

    assert {key: body[key] for key in body.keys() - {"model", "messages"}} == {
        "max_completion_tokens": 500,
        "reasoning_effort": "high",
        "prompt_cache_key": blake2b(b"s-1", digest_size=16).hexdigest(),
    }


def test_openai_finds_the_cache_of_a_conversation_by_a_key_that_stays(own, openai):
    first = body_of(own, session="run/0", turn=1)["prompt_cache_key"]

    assert body_of(own, session="run/0", turn=2)["prompt_cache_key"] == first
    assert body_of(own, session="run/1")["prompt_cache_key"] != first
    assert len(first) <= 64
    assert "prompt_cache_key" not in body_of(own, caching="none")
    assert "prompt_cache_key" not in body_of(openai)


def test_only_the_end_of_a_request_is_new_from_turn_to_turn(own):
    """Tools and messages so far are the same bytes, so that a cache finds them."""
    requests = [
        own.body(asking(messages=talk, tools=(LOOK,), turn=turn), stream=False) for turn, talk in turns()
    ]

    for before, after in pairwise(requests):
        assert json.loads(before)["tools"] == json.loads(after)["tools"]
        said = before[before.index(b'"messages":[') : before.index(b'],"tools"')]
        assert after.count(said) == 1


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("https://openrouter.ai/api/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("http://127.0.0.1:11434/v1", False),
    ],
)
def test_openai_is_known_by_its_host(url, own):
    assert bool(openai_module._OWN_HOSTS.match(url)) is own


def test_a_tool_without_parameters_has_an_empty_object(openai):
    body = body_of(openai, tools=(ToolSpec("now", "Tells the time.", {}),))

    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_ids_that_are_empty_or_doubled_are_told_apart(openai):
    """Also over turns; results are matched in their order."""
    turn = (
        Message("assistant", "", (call("", "look", what="a"), call("", "look", what="b"))),
        Message("tool", "A", answers=""),
        Message("tool", "B", answers=""),
        Message("assistant", "", (call("x", "look", what="c"), call("x", "look", what="d"))),
        Message("tool", "C", answers="x"),
        Message("tool", "D", answers="x"),
    )

    sent = body_of(openai, messages=(*TALK, *turn, *turn))["messages"]

    asked = {
        one["id"]: one["function"]["arguments"] for message in sent for one in message.get("tool_calls", ())
    }
    results = {message["tool_call_id"]: message["content"] for message in sent if message["role"] == "tool"}
    assert len(asked) == 8
    assert asked.keys() == results.keys()
    assert all(json.loads(asked[id])["what"].upper() == results[id] for id in asked)


def test_openai_itself_is_sent_no_id_or_name_that_it_refuses(own):
    calls = (ToolCall("a/b" * 40, "strange tool!"), ToolCall("", ""))

    sent = body_of(own, messages=(*TALK, Message("assistant", "", calls)))["messages"]

    names = [(one["id"], one["function"]["name"]) for one in sent[2]["tool_calls"]]
    assert all(openai_module._OWN_IDS.fullmatch(id) for id, _ in names)
    assert [name for _, name in names] == ["strange_tool_", "unknown"]


def test_a_call_without_a_result_gets_one(openai):
    lost = Message("assistant", "", (call("c1", "look"), call("c2", "look")))
    talk = (*TALK, lost, Message("tool", "found", answers="c2"), Message("user", "And?"))

    in_between = body_of(openai, messages=talk)["messages"]
    at_the_end = body_of(openai, messages=talk[:3])["messages"]

    assert in_between[3:] == [
        {"role": "tool", "tool_call_id": "c2", "content": "found"},
        {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT},
        {"role": "user", "content": "And?"},
    ]
    assert [message["content"] for message in at_the_end[3:]] == [NO_RESULT, NO_RESULT]


def test_a_result_without_a_call_is_told_by_the_user(openai):
    sent = body_of(openai, messages=(*TALK, Message("tool", "found", answers="c9")))["messages"]

    assert sent[2] == {"role": "user", "content": "Result of a tool call: found"}


def test_arguments_that_were_no_json_are_sent_back_inside_some(openai):
    calls = (ToolCall("c1", "look", {}, '{"what": '),)

    sent = body_of(openai, messages=(*TALK, Message("assistant", "", calls)))["messages"]

    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"what": '}


def test_a_key_is_not_needed_where_none_is_named():
    assert openai_module.headers("") == {}
