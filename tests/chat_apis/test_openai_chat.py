"""Chat completions, with OpenAI's own client against the real server."""

import httpx
import openai
import pytest

from tests.chat_apis.serving import Server


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


def test_the_models_are_the_agents(client: openai.OpenAI):
    models = {model.id: model for model in client.models.list()}

    assert models["desk"].owned_by == "folkmoot"
    assert models["desk"].description == "Answers what customers ask."
    assert client.models.retrieve("desk") == models["desk"]
    with pytest.raises(openai.NotFoundError, match=r"the models here are the agents: .*desk"):
        client.models.retrieve("gpt-5")


def test_a_model_that_is_no_agent_is_refused_with_those_that_are(client: openai.OpenAI):
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model="gpt-5", messages=[user("hi")])

    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    assert "there is no model 'gpt-5'; the models here are the agents: " in refused.value.message


@pytest.mark.parametrize(
    ("param", "body"),
    [
        ("messages", {"messages": "hi"}),
        ("messages", {"messages": []}),
        ("messages", {"messages": [{"role": "assistant", "content": "hi"}]}),
        ("messages", {"messages": [user("  ")]}),
        ("messages[0].role", {"messages": [{"role": 3, "content": "hi"}]}),
        ("messages[0].role", {"messages": [{"role": "critic", "content": "hi"}]}),
        ("messages[0].content[0]", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        ("messages[0].role", {"messages": [{"content": "hi"}]}),
        ("n", {"n": 2}),
        ("stop", {"stop": ["."]}),
        ("stream", {"stream": "yes"}),
        ("logprobs", {"logprobs": True}),
        ("response_format", {"response_format": {"type": "json_object"}}),
        ("tool_choice", {"tool_choice": "required"}),
        ("tools[0]", {"tools": [{"type": "custom"}]}),
        ("metadata", {"metadata": {"work_session": "none"}}),
    ],
)
def test_what_is_wrong_with_a_request_is_named(server: Server, param: str, body: dict):
    answer = httpx.post(
        f"{server.base}/chat/completions", json={"model": "desk", "messages": [user("hi")], **body}
    )

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


def test_a_run_that_fails_is_an_error_that_no_client_repeats_by_itself(server: Server, client: openai.OpenAI):
    before = len(server.runs("failed"))
    with pytest.raises(openai.InternalServerError, match="the model is out") as failed:
        client.chat.completions.create(model="broken", messages=[user("hi")])

    assert failed.value.body["type"] == "server_error"
    assert failed.value.response.headers["x-should-retry"] == "false"
    assert len(server.runs("failed")) == before + 1
    with pytest.raises(openai.APIError, match="the model is out"):
        list(client.chat.completions.create(model="broken", messages=[user("hi")], stream=True))


def test_other_errors_have_the_form_that_the_client_reads(server: Server):
    for method, path, status in (
        ("GET", "nothing", 404),
        ("GET", "chat/completions", 405),
        ("POST", "chat/completions", 400),
    ):
        answer = httpx.request(
            method, f"{server.base}/{path}", content="{", headers={"content-type": "application/json"}
        )
        assert (answer.status_code, [*answer.json()["error"]]) == (
            status,
            ["message", "type", "param", "code"],
        )
    answer = httpx.post(
        f"{server.base}/chat/completions", content="{}", headers={"content-type": "text/plain"}
    )
    assert (answer.status_code, answer.json()["error"]["message"]) == (415, "send application/json")
    answer = httpx.post(f"{server.base}/chat/completions", json={"messages": "x" * 32_000_001})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (413, "invalid_request_error")
    remedy = "`--max-body` of `folkmoot serve` sets how many MB, now 32"
    assert error["message"] == f"this request may have at most 32,000,000 bytes; {remedy}"


def test_texts_in_parts_and_other_roles_are_read(server: Server, client: openai.OpenAI):
    said = client.chat.completions.create(
        model="desk",
        temperature=0.2,
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "hi "}, {"type": "text", "text": "there"}]},
        ],
        extra_headers={"X-Folkmoot-Work-Session": "ws_mine"},
    )

    prompt = server.prompt(said.folkmoot["runId"])
    assert "hi there" in prompt
    assert "<client_instructions__" in prompt
    assert said.folkmoot["workSessionId"] == "ws_mine"
