"""Messages, with Anthropic's own client against the real server."""

import anthropic
import httpx
import msgspec
import pytest

from folkmoot.http.state import ServerOptions
from tests.chat_apis.conftest import AGENTS
from tests.chat_apis.serving import Server
from tests.http.doors import TOKEN, serving

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def client(server):
    with anthropic.Anthropic(base_url=server.address, api_key="none is needed here") as made:
        yield made


def user(content):
    return {"role": "user", "content": content}


def asked(client, model, *messages, **more):
    return client.messages.create(model=model, max_tokens=1000, messages=messages, **more)


def test_an_agent_answers_as_a_model_does(server: Server, client):
    said = asked(client, "desk", user("hi"), system="Be brief.")

    assert [(block.type, block.text) for block in said.content] == [("text", "Hello.")]
    assert (said.type, said.role, said.model, said.stop_reason) == (
        "message",
        "assistant",
        "desk",
        "end_turn",
    )
    assert "<client_instructions" in server.prompt(said.folkmoot["runId"])
    assert said.folkmoot["status"] == "completed"


def test_usage_is_what_the_ledger_says_with_the_cache_counted_apart(server: Server, client):
    said = asked(client, "desk", user("hi"))

    totals = server.run(said.folkmoot["runId"])["totals"]
    usage = said.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (
        70,
        20,
        30,
    )
    assert totals["tokensIn"] == 120
    assert usage.output_tokens == totals["tokensOut"] == 7


def test_a_stream_has_the_events_of_the_format_and_its_text_is_the_report(server: Server, client):
    stream = asked(client, "desk", user("hi"), stream=True)
    types = [event.type for event in stream]
    assert types == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]

    with client.messages.stream(model="desk", max_tokens=1000, messages=[user("hi")]) as stream:
        assert "".join(stream.text_stream) == "Hello."
        said = stream.get_final_message()
    assert (said.stop_reason, said.usage.input_tokens, said.usage.output_tokens) == ("end_turn", 70, 7)
    assert said.content[0].text == "Hello."


def test_what_happens_is_thinking_to_a_client_that_wants_thinking(server: Server, client):
    thinking = {"type": "enabled", "budget_tokens": 1024}
    messages = [user("hi")]
    with client.messages.stream(
        model="desk", max_tokens=2000, messages=messages, thinking=thinking
    ) as stream:
        said = stream.get_final_message()
    first, second = said.content

    assert (first.type, first.thinking) == ("thinking", "desk starts\ndesk is done\n")
    assert (second.type, second.text) == ("text", "Hello.")

    again = asked(client, "desk", *messages, said.to_param(), user("the second"), thinking=thinking)
    assert [block.type for block in again.content] == ["text"]
    assert "desk starts" not in server.prompt(again.folkmoot["runId"])


def result(block, content, **more):
    return {"type": "tool_result", "tool_use_id": block.id, "content": content, **more}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_tool_of_the_client_is_called_there_and_its_result_lets_the_run_go_on(
    server: Server, client, streamed
):
    """The run waits meanwhile; nothing of it happens twice."""

    def say(*messages):
        more = {"model": "guide", "max_tokens": 1000, "messages": messages, "tools": [WEATHER]}
        if not streamed:
            return client.messages.create(**more)
        with client.messages.stream(**more) as stream:
            return stream.get_final_message()

    question = user("What do I need in both?")
    wished = say(question)
    assert wished.stop_reason == "tool_use"
    calls = [block for block in wished.content if block.type == "tool_use"]
    assert [(call.name, call.input) for call in calls] == [
        ("get_weather", {"city": "Bonn"}),
        ("get_weather", {"city": "Rome"}),
    ]
    results = user([result(calls[1], [{"type": "text", "text": "12 degrees"}]), result(calls[0], "sun")])
    said = say(question, wished.to_param(), results)

    assert (said.content[0].text, said.stop_reason) == ("Take a coat.", "end_turn")
    events = server.events(wished.id.removeprefix("msg_"))
    answered = [event["data"] for event in events if event["type"] == "client.answered"]
    assert {each["id"]: each["text"] for each in answered} == {calls[0].id: "sun", calls[1].id: "12 degrees"}
    assert len([event for event in events if event["type"] == "llm.request"]) == 2


def test_two_clients_that_ask_the_same_each_go_on_with_their_own_run(server: Server, client):
    """By the ids of the calls: what was said before is the same for both."""
    question = user("Do I need an umbrella?")
    mine, theirs = (asked(client, "guide", question, tools=[WEATHER]) for _ in range(2))
    for wished in (mine, theirs):
        answer = user([result(wished.content[0], "12 degrees")])
        said = asked(client, "guide", question, wished.to_param(), answer, tools=[WEATHER])
        assert (said.content[0].text, said.folkmoot["runId"]) == ("Take a coat.", wished.folkmoot["runId"])


def test_a_tool_of_the_client_that_failed_is_told_as_such(server: Server, client):
    question = user("Do I need a coat?")
    wished = asked(client, "guide", question, tools=[WEATHER])
    (call,) = wished.content
    failed = user([result(call, "no such city", is_error=True), {"type": "text", "text": "Sorry."}])
    said = asked(client, "guide", question, wished.to_param(), failed, tools=[WEATHER])

    assert said.content[0].text == "I cannot say."
    (told,) = [each for each in server.events(said.folkmoot["runId"]) if each["type"] == "client.answered"]
    assert (told["data"]["failed"], "Sorry." in told["data"]["text"]) == (True, True)
    assert said.folkmoot["runId"] == wished.folkmoot["runId"]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ({"model": "nobody"}, anthropic.NotFoundError, "there is no model 'nobody'"),
        (
            {"messages": [user("hi"), {"role": "assistant", "content": "so"}]},
            anthropic.BadRequestError,
            "last",
        ),
        ({"stop_sequences": ["x"]}, anthropic.BadRequestError, "stop_sequences"),
        ({"tools": [WEATHER], "tool_choice": {"type": "any"}}, anthropic.BadRequestError, "tool_choice"),
        ({"messages": [user([{"type": "image", "source": {}}])]}, anthropic.BadRequestError, "'image'"),
        ({"model": "broken"}, anthropic.InternalServerError, "the model is out"),
    ],
)
def test_what_is_wrong_is_said_in_the_form_that_the_client_reads(client, body, error, words):
    with pytest.raises(error, match=words) as raised:
        asked(client, body.pop("model", "desk"), *body.pop("messages", [user("hi")]), **body)

    told = raised.value.body
    assert told["type"] == "error"
    assert set(told["error"]) == {"type", "message"}


def test_a_run_that_fails_in_a_stream_is_an_error_of_the_stream(client):
    with pytest.raises(anthropic.APIStatusError, match="the model is out"):
        list(asked(client, "broken", user("hi"), stream=True))


def test_nothing_is_run_for_a_get(server: Server):
    """O-43: it must not spend money."""
    before = server.get("api/runs")

    assert httpx.get(f"{server.base}/desk", params={"q": "hi"}).status_code == 404
    assert server.get("api/runs") == before


def test_the_models_are_the_agents_for_both_kinds_of_client(server: Server, client):
    assert {model.id for model in client.models.list()} == {*AGENTS}
    assert client.models.retrieve("desk").display_name == "desk: Answers what customers ask."
    assert server.get("v1/models")["object"] == "list"
    with pytest.raises(anthropic.NotFoundError) as raised:
        client.models.retrieve("nobody")
    assert raised.value.body["error"]["type"] == "not_found_error"


def test_tokens_are_counted_by_the_guess_that_the_house_reserves_with(client):
    few = client.messages.count_tokens(model="desk", messages=[user("hi")]).input_tokens
    more = client.messages.count_tokens(model="desk", messages=[user("hi" + "x" * 300)]).input_tokens
    with_tool = client.messages.count_tokens(
        model="desk", messages=[user("hi")], tools=[WEATHER]
    ).input_tokens

    assert more == few + 100
    assert few < with_tool < more


async def test_a_token_is_taken_as_api_key_and_without_it_the_error_has_the_form_of_the_client(desk):
    at = desk({"desk": ""}, {"desk": ["Hello."]})
    async with serving(at, ServerOptions(port=0, token=TOKEN)) as guarded:
        async with anthropic.AsyncAnthropic(base_url=guarded.address, api_key=TOKEN) as client:
            said = await client.messages.create(model="desk", max_tokens=10, messages=[user("hi")])
        assert said.content[0].text == "Hello."

        headers = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
        for path in ("/v1/messages", "/v1/models"):
            refused = await guarded.ask(path, headers, method="POST", body=b"{}")
            told = msgspec.json.decode(refused.body)
            assert (refused.status, told["type"]) == (401, "error")
            assert told["error"]["type"] == "authentication_error"
