"""What models think comes back to them as it was, where their wire wants it, and is never taken for an answer."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.budget import FREE
from folkmoot.domain.message import Message, Thought
from folkmoot.models.choose import ProviderModels
from tests.models.provider import LOOK, TALK, answered, asking, call, streamed

THINKING = {"type": "thinking", "thinking": "First… \u2028 Grüße", "signature": "c2lnbmF0dXJl+/=="}
HIDDEN = {"type": "redacted_thinking", "data": "RW5jcnlwdGVk"}
LATER = {"type": "thinking", "thinking": "", "signature": "b21pdHRlZA=="}
SAID = {"type": "text", "text": "I look."}
USES = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"what": "x"}} for n in (1, 2)]
CONTENT = [THINKING, HIDDEN, SAID, USES[0], LATER, USES[1]]
WHOLE = {"content": CONTENT, "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 9}}
RESULTS = (Message("tool", "seen", answers="c1"), Message("tool", "seen", answers="c2"))
BUDGET = {"model": "claude-opus-4-5", "reasoning_tokens": 2000, "max_output": 4000, "tools": (LOOK,)}


def pieces():
    """`CONTENT` as it is streamed: signatures in one piece, text in several."""
    yield {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}
    for index, block in enumerate(CONTENT):
        start, deltas = dict(block), []
        match block["type"]:
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": each} for each in block["thinking"]]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                start["text"], deltas = "", [{"type": "text_delta", "text": "I look."}]
            case "tool_use":
                start["input"] = {}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


@pytest.mark.parametrize("listening", [False, True])
async def test_signed_and_hidden_thoughts_go_back_where_they_stood_unchanged(anthropic, provider, listening):
    """Issue 8: thinking where the wire has it. An older model refuses the conversation otherwise."""
    provider.plays = [streamed(*pieces()) if listening else answered(WHOLE)]
    heard = []

    answer = await anthropic.answer(asking(caching="none"), heard.append if listening else None)
    messages = (*TALK, answer.message, *RESULTS)
    body = json.loads(anthropic.body(asking(messages=messages, caching="none", **BUDGET), stream=False))

    assert body["messages"][1] == {"role": "assistant", "content": CONTENT}
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert answer.message.text == "I look."
    assert "".join(heard) in ("", "I look.")
    assert answer.message.thoughts == (
        Thought("thinking", THINKING["thinking"], THINKING["signature"]),
        Thought("redacted_thinking", "", HIDDEN["data"]),
        Thought("thinking", "", LATER["signature"], at=2),
    )


def test_a_turn_that_began_without_a_thought_goes_on_without(anthropic):
    """As after another model, or with thoughts that it cannot use: thinking would be refused until the user speaks."""
    asked = Message("assistant", "", (call("c1", "look"),))
    thought = replace(asked, thoughts=(Thought("thinking", "hm", "s"),))
    result = Message("tool", "seen", answers="c1")

    def thinks(*messages):
        given = asking(messages=(*TALK, *messages), caching="none", **BUDGET)
        return "thinking" in json.loads(anthropic.body(given, stream=False))

    assert thinks()
    assert thinks(thought, result)
    assert thinks(thought, result, asked, result)  # it thinks once in a turn, unless it is told to interleave
    assert not thinks(asked, result)
    assert not thinks(asked, result, thought, result)
    assert thinks(asked, result, Message("assistant", "Done."), Message("user", "Again."))


def test_thoughts_alone_are_no_message(anthropic):
    """A model that ran out of tokens while it thought said nothing, or nothing more."""
    silent = Message("assistant", thoughts=(Thought("thinking", "hm", "s"),))
    broke_off = Message("assistant", "I see.", thoughts=(Thought("thinking", "hm", "s", at=1),))
    talk = (*TALK, silent, Message("user", "Well?"), broke_off, Message("user", "What?"))
    given = asking(messages=talk, caching="none", model="claude-opus-5")
    body = json.loads(anthropic.body(given, stream=False))

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [{"type": "text", "text": "I see."}]


DETAILS = [
    {"type": "reasoning.text", "text": "First, then.", "signature": "s", "format": "anthropic", "index": 0},
    {"type": "reasoning.encrypted", "data": "abc", "id": "r1", "index": 1},
]
DETAIL_PIECES = [
    [{"type": "reasoning.text", "text": "First, ", "format": "anthropic", "index": 0}],
    [{"type": "reasoning.text", "text": "then.", "index": 0}, {"type": "reasoning.text", "text": "", "signature": "s", "index": 0}],
    [{"type": "reasoning.encrypted", "data": "abc", "id": "r1", "index": 1}],
]  # fmt: skip
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def completion(**said):
    return {
        "choices": [{"message": {"content": None, "tool_calls": [CALL], **said}, "finish_reason": "stop"}]
    }


def stream(field, parts):
    yield from ({"choices": [{"delta": {field: part}}]} for part in parts)
    yield {"choices": [{"delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("play", "field", "back"),
    [
        (answered(completion(reasoning_content="hm")), "reasoning_content", "hm"),
        (streamed(*stream("reasoning_content", ["h", "m"])), "reasoning_content", "hm"),
        (answered(completion(reasoning="hm", reasoning_details=DETAILS)), "reasoning_details", DETAILS),
        (streamed(*stream("reasoning_details", DETAIL_PIECES)), "reasoning_details", DETAILS),
        (answered(completion(reasoning="hm")), "reasoning", None),
        (answered(completion(reasoning="hm", reasoning_details="none")), "reasoning", None),
    ],
)
async def test_servers_get_back_what_led_to_a_call_in_the_field_they_gave_it(
    openai, provider, play, field, back
):
    """DeepSeek and OpenRouter want it; others, which say it in `reasoning`, do not."""
    provider.plays = [play]
    heard = []

    answer = await openai.answer(asking(), heard.append if b"event-stream" in play[0] else None)
    messages = (*TALK, answer.message, Message("tool", "seen", answers="c1"))
    sent = json.loads(openai.body(asking(messages=messages), stream=False))["messages"][2]

    (thought,) = answer.message.thoughts
    assert thought.kind == field
    assert sent.get(field) == back
    assert answer.message.text == "".join(heard) == ""


async def test_what_led_to_an_answer_does_not_go_back(openai, provider):
    """R1 refuses a conversation that holds it."""
    provider.plays = [answered({"choices": [{"message": {"content": "fine", "reasoning_content": "hm"}}]})]
    answer = await openai.answer(asking())
    messages = (*TALK, answer.message, Message("user", "Well?"))

    sent = json.loads(openai.body(asking(messages=messages), stream=False))["messages"][2]

    assert sent == {"role": "assistant", "content": "fine"}


def test_openai_itself_is_sent_no_thoughts():
    models = ProviderModels({}, {"OPENAI_API_KEY": "key"}, Path())
    own = models.choose(ModelChoice("openai", "gpt-x", 1000, FREE))
    said = Message("assistant", "", (call("c1", "look"),), thoughts=(Thought("reasoning_content", "hm"),))

    sent = json.loads(own.body(asking(messages=(*TALK, said)), stream=False))["messages"][2]

    assert set(sent) == {"role", "content", "tool_calls"}
