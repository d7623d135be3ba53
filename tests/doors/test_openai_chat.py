"""Chat completions, with OpenAI's own client against the real server."""

from __future__ import annotations

import openai
import pytest

from tests.doors.serving import Server


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_an_agent_answers_as_a_model_does(server: Server, client: openai.OpenAI):
    said = client.chat.completions.create(model="desk", messages=[user("hi")])

    choice = said.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == (
        "assistant",
        "Hello.",
        "stop",
    )
    assert (said.object, said.model) == ("chat.completion", "desk")
    about = said.folkmoot
    assert about["status"] == "completed"
    assert server.events(about["runId"])[0]["workSessionId"] == about["workSessionId"]


def test_usage_is_what_the_ledger_says(server: Server, client: openai.OpenAI):
    said = client.chat.completions.create(model="desk", messages=[user("hi")])

    totals = server.run(said.folkmoot["runId"])["totals"]
    assert said.usage.prompt_tokens == totals["tokensIn"] == 120
    assert said.usage.completion_tokens == totals["tokensOut"] == 7
    assert said.usage.prompt_tokens_details.cached_tokens == totals["tokensCacheRead"] == 20
    assert said.folkmoot["costUsd"] == totals["costUsd"] > 0


def test_a_stream_tells_what_happens_and_its_content_is_the_report(server: Server, client: openai.OpenAI):
    stream = client.chat.completions.create(
        model="desk", messages=[user("hi")], stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == "Hello."
    assert (
        "".join(getattr(delta, "reasoning_content", "") for delta in deltas) == "desk starts\ndesk is done\n"
    )
    (last,) = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert last.choices[0].finish_reason == "stop"
    assert server.run(last.folkmoot["runId"])["status"] == "completed"
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 127)


def test_a_conversation_goes_on_in_the_same_work_session(server: Server, client: openai.OpenAI):
    messages, about = [], []
    for text in ("hi", "the second", "the third"):
        messages.append(user(text))
        said = client.chat.completions.create(model="desk", messages=messages)
        messages.append({"role": "assistant", "content": said.choices[0].message.content})
        about.append(said.folkmoot)

    assert [message["content"] for message in messages[1::2]] == ["Hello.", "Two.", "Three."]
    assert len({each["runId"] for each in about}) == 3
    assert len({each["workSessionId"] for each in about}) == 1
    assert "user: the second\n\nassistant: Two." in server.prompt(about[-1]["runId"])


def test_a_question_is_answered_by_the_next_message(server: Server, client: openai.OpenAI):
    messages = [user("Where is it?")]
    asked = client.chat.completions.create(model="clerk", messages=messages)
    text = asked.choices[0].message.content
    assert text.startswith("Which order?")
    (item,) = asked.folkmoot["waiting"]
    assert f"{server.address}inbox/{item}" in text

    messages += [{"role": "assistant", "content": text}, user("1042")]
    said = client.chat.completions.create(model="clerk", messages=messages)

    assert said.choices[0].message.content == "I looked at it."
    assert said.folkmoot["runId"] == asked.folkmoot["runId"]
    totals = server.run(said.folkmoot["runId"])["totals"]
    assert asked.usage.prompt_tokens + said.usage.prompt_tokens == totals["tokensIn"]
    answers = [
        event for event in server.events(said.folkmoot["runId"]) if event["type"] == "question.answered"
    ]
    assert [event["data"]["text"] for event in answers] == ["1042"]


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather at a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


@pytest.mark.parametrize("streaming", [False, True])
def test_a_tool_of_the_client_is_called_by_the_client(server: Server, client: openai.OpenAI, streaming: bool):
    messages = [user("Shall I take an umbrella?")]
    if streaming:
        with client.chat.completions.stream(model="walker", messages=messages, tools=[WEATHER]) as stream:
            stream.until_done()
            asked = stream.get_final_completion()
    else:
        asked = client.chat.completions.create(model="walker", messages=messages, tools=[WEATHER])
    (choice,) = asked.choices
    assert choice.finish_reason == "tool_calls"
    calls = choice.message.tool_calls
    assert [(call.function.name, call.function.arguments) for call in calls] == [
        ("weather", '{"place":"Bonn"}'),
        ("weather", '{"place":"Cologne"}'),
    ]

    messages.append(choice.message.model_dump(include={"role", "content", "tool_calls"}))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "It rains."} for call in calls]
    said = client.chat.completions.create(model="walker", messages=messages, tools=[WEATHER])

    assert said.choices[0].message.content == "Take one."
    run = said.folkmoot["runId"]
    results = [event for event in server.events(run) if event["type"] == "client.answered"]
    assert [event["data"]["text"] for event in results] == ["It rains.", "It rains."]
    assert run == asked.folkmoot["runId"] if not streaming else asked.id == f"chatcmpl-{run}"

    messages += [{"role": "assistant", "content": "Take one."}, user("And a coat?")]
    further = client.chat.completions.create(model="walker", messages=messages)
    assert further.folkmoot["workSessionId"] == said.folkmoot["workSessionId"]
    assert f"assistant called weather: {calls[0].function.arguments}" in server.prompt(
        further.folkmoot["runId"]
    )
