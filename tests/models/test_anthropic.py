"""What is sent to the messages API."""

import json
from itertools import pairwise

import pytest

from folkmoot.domain.message import Message, ToolCall
from folkmoot.models.anthropic import _IDS, headers
from folkmoot.models.outgoing import NO_RESULT
from tests.models.provider import KEY, LOOK, TALK, answered, asking, call, turns

DONE = {"content": [{"type": "text", "text": "fine"}], "stop_reason": "end_turn"}
MARK = {"cache_control": {"type": "ephemeral"}}


def body_of(adapter, /, **request):
    return json.loads(
        adapter.body(asking(**{"caching": "none", "model": "claude-opus-5", **request}), stream=False)
    )


async def test_the_smallest_request(anthropic, provider):
    provider.plays = [answered(DONE)]

    await anthropic.answer(asking(caching="none"))

    assert provider.asked[0].path == "/v1/messages"
    assert provider.asked[0].headers["x-api-key"] == KEY
    assert provider.asked[0].headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in provider.asked[0].headers
    assert provider.asked[0].body == {
        "model": "gpt-x",
        "max_tokens": 500,
        "system": [{"type": "text", "text": "You are kind."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "How are you?"}]}],
    }


async def test_results_of_one_turn_go_back_in_one_message(anthropic, provider):
    provider.plays = [answered(DONE)]
    talk = (
        *TALK,
        Message("assistant", "I look.", (call("c1", "look", what="ä"), call("c2", "look"))),
        Message("tool", "found a", answers="c1"),
        Message("tool", "", answers="c2"),
        Message("user", "And?"),
    )

    await anthropic.answer(asking(messages=talk, tools=(LOOK,), caching="none"), [].append)

    body = provider.asked[0].body
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"what": "ä"}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "found a"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "(empty)"},
                {"type": "text", "text": "And?"},
            ],
        },
    ]
    assert body["tools"] == [
        {"name": "look", "description": "Looks something up.", "input_schema": LOOK.parameters}
    ]
    assert body["stream"] is True


def test_a_cache_may_keep_the_system_prompt_and_everything_up_to_the_last_block(anthropic):
    talk = (Message("system", "Be kind."), Message("system", "Be brief."), *TALK[1:], Message("user", "And?"))

    body = body_of(anthropic, messages=talk, caching="full")

    assert body["system"] == [
        {"type": "text", "text": "Be kind."},
        {"type": "text", "text": "Be brief.", **MARK},
    ]
    assert body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "How are you?"}, {"type": "text", "text": "And?", **MARK}],
        }
    ]


def marked(body):
    """Where the marks are: the list, the message, and the block."""
    blocks = [("tools", 0, at, block) for at, block in enumerate(body["tools"])]
    blocks += [("system", 0, at, block) for at, block in enumerate(body["system"])]
    for number, message in enumerate(body["messages"]):
        blocks += [("messages", number, at, block) for at, block in enumerate(message["content"])]
    return [where for *where, block in blocks if block.pop("cache_control", None)]


async def test_the_marks_move_on_so_that_each_turn_reads_what_the_one_before_wrote(anthropic, provider):
    """However many calls a turn had: one mark is where the turn before had its last. Never more than four."""
    provider.plays = [answered(DONE)]
    for turn, talk in turns(calls=30):
        await anthropic.answer(asking(messages=talk, tools=(LOOK, LOOK), turn=turn, model="claude-opus-5"))

    places = [marked(asked.body) for asked in provider.asked]
    stable = [["tools", 0, 1], ["system", 0, 0]]
    assert places == [
        [*stable, ["messages", 0, 0]],
        [*stable, ["messages", 0, 0], ["messages", 2, 29]],
        [*stable, ["messages", 2, 29], ["messages", 4, 29]],
    ]


async def test_what_a_cache_may_keep_is_the_same_bytes_in_the_next_turn(anthropic, provider):
    provider.plays = [answered(DONE)]
    for turn, talk in turns():
        await anthropic.answer(asking(messages=talk, tools=(LOOK,), turn=turn, model="claude-opus-5"))

    sent = [asked.raw.replace(b',"cache_control":{"type":"ephemeral"}', b"") for asked in provider.asked]
    for before, after in pairwise(sent):
        said = before[before.index(b'"messages":[') : before.index(b']}],"system"')]
        assert after.count(said) == 1
        assert before[before.index(b'],"system":') :] == after[after.index(b'],"system":') :]


def test_without_caching_nothing_is_marked(anthropic):
    for _, talk in turns():
        assert "cache_control" not in json.dumps(body_of(anthropic, messages=talk, tools=(LOOK,)))


@pytest.mark.parametrize("caching", ["none", "full"])
@pytest.mark.parametrize(
    "talk",
    [
        (),
        (Message("system", ""),),
        (Message("user", ""),),
        (Message("assistant", "I begin."),),
        (Message("assistant", "", (call("c1", "look"),)),),
        (*TALK, Message("assistant", "  ")),
        (*TALK, Message("assistant", "I end.")),
        (*TALK, Message("assistant", ""), Message("user", "And?")),
        (*TALK, Message("system", "Hurry."), Message("user", " ")),
        (*TALK, Message("tool", "", answers="c9")),
        (*TALK, Message("assistant", "", (call("c1", "look"),)), Message("user", "And?")),
        (
            *TALK,
            Message("assistant", "", (call("c1", "look"),)),
            Message("assistant", "Hm."),
            Message("user", "?"),
        ),
    ],
)
def test_whatever_was_said_the_turns_alternate_and_no_text_is_blank(anthropic, talk, caching):
    """The provider demands: the user begins and ends, every call has its result next, nothing is empty."""
    sent = body_of(anthropic, messages=talk, caching=caching)["messages"]

    assert [message["role"] for message in sent] == ["user", "assistant"] * (len(sent) // 2) + ["user"]
    assert all(message["content"] for message in sent)
    blocks = [block for message in sent for block in message["content"]]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    for asked, given in pairwise(sent):
        calls = [block["id"] for block in asked["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in given["content"] if block["type"] == "tool_result"]
        assert calls == results


def test_a_call_without_a_result_gets_one(anthropic):
    talk = (*TALK, Message("assistant", "", (call("c1", "look"),)), Message("user", "And?"))

    sent = body_of(anthropic, messages=talk)["messages"]

    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": NO_RESULT},
        {"type": "text", "text": "And?"},
    ]


def test_ids_are_such_that_the_provider_takes_them_and_never_doubled(anthropic):
    turn = (
        Message("assistant", "", (ToolCall("a/b", "look"), ToolCall("", "look"), ToolCall("x", "look"))),
        Message("tool", "1", answers="a/b"),
        Message("tool", "2", answers=""),
        Message("tool", "3", answers="x"),
    )

    sent = body_of(anthropic, messages=(*TALK, *turn, *turn))["messages"]

    ids = [block["id"] for message in sent for block in message["content"] if block["type"] == "tool_use"]
    assert all(_IDS.fullmatch(id) for id in ids)
    assert len(set(ids)) == 6
    assert "x" in ids


def test_arguments_that_were_no_json_are_sent_back_inside_some(anthropic):
    talk = (*TALK, Message("assistant", "", (ToolCall("c1", "look", {}, "{"),)))

    assert body_of(anthropic, messages=talk)["messages"][1]["content"][0]["input"] == {"malformed": "{"}


def test_what_an_agent_sets_is_sent(anthropic):
    body = body_of(anthropic, temperature=0.0, top_p=0.5, top_k=3, repeat_penalty=1.1)

    assert {key: body[key] for key in body.keys() - {"model", "messages", "system", "max_tokens"}} == {
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 3,
    }


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-6", "claude-sonnet-5", "claude-haiku-5-5", "claude-fable-5", "claude-opus-5-20260101", "claude-sonnet-4.6"],
)  # fmt: skip
@pytest.mark.parametrize(("reasoning", "effort"), [("minimal", "low"), ("low", "low"), ("high", "high")])
def test_models_that_think_adaptively_are_told_how_hard(anthropic, model, reasoning, effort):
    body = body_of(
        anthropic, model=model, reasoning=reasoning, reasoning_tokens=2000, tools=(LOOK,), temperature=1.0
    )

    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": effort})
    assert "temperature" not in body


@pytest.mark.parametrize("reasoning", [None, "none", "default", "inherit"])
def test_thinking_is_left_to_the_provider_unless_it_is_set(anthropic, reasoning):
    assert "thinking" not in body_of(anthropic, reasoning=reasoning)


@pytest.mark.parametrize(
    "model",
    [
        "claude-3-7-sonnet-latest",
        "claude-opus-4-5",
        "claude-opus-4-20250514",
        "claude-haiku-4-5-20251001",
        "glm-5",
    ],
)
def test_older_models_think_by_a_budget_within_the_output(anthropic, model):
    request = {"model": model, "reasoning": "high", "reasoning_tokens": 2000, "max_output": 4000}

    assert body_of(anthropic, **request)["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body_of(anthropic, **request, tools=(LOOK,))["thinking"]["budget_tokens"] == 2000
    assert "thinking" not in body_of(anthropic, **request | {"reasoning_tokens": None})
    assert "thinking" not in body_of(anthropic, **request | {"reasoning_tokens": 900})
    assert body_of(anthropic, **request | {"max_output": 1500})["thinking"]["budget_tokens"] == 1499


def test_a_key_is_not_needed_where_none_is_named():
    assert headers("") == {"anthropic-version": "2023-06-01"}
