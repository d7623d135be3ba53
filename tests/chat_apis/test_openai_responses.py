"""The Responses API, with OpenAI's own client against the real server."""

import openai
import pytest

from tests.chat_apis.serving import Server

WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "The weather at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "strict": True,
}


def test_an_agent_responds(server: Server, client: openai.OpenAI):
    said = client.responses.create(model="desk", input="hi", instructions="Be brief.", metadata={"a": "b"})

    assert (said.output_text, said.status, said.model) == ("Hello.", "completed", "desk")
    totals = server.run(said.folkmoot["runId"])["totals"]
    assert (said.usage.input_tokens, said.usage.output_tokens) == (totals["tokensIn"], totals["tokensOut"])
    assert said.usage.input_tokens_details.cached_tokens == 20
    assert "Be brief." in server.prompt(said.folkmoot["runId"])
    again = client.responses.retrieve(said.id)
    assert (again.output_text, again.usage, again.model) == ("Hello.", said.usage, "desk")


def test_a_stream_has_the_events_of_the_api_in_their_order(client: openai.OpenAI):
    events = list(client.responses.create(model="desk", input="hi", stream=True))

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-1].response.output_text == "Hello."
    assert events[6].text == "desk starts\ndesk is done\n"


def test_the_next_response_goes_on_from_the_one_it_names(server: Server, client: openai.OpenAI):
    first = client.responses.create(model="desk", input="hi")
    second = client.responses.create(model="desk", input="the second", previous_response_id=first.id)
    third = client.responses.create(model="desk", input="the third", previous_response_id=second.id)

    assert [each.output_text for each in (first, second, third)] == ["Hello.", "Two.", "Three."]
    assert len({each.folkmoot["workSessionId"] for each in (first, second, third)}) == 1
    told = "user: hi\n\nassistant: Hello.\n\nuser: the second\n\nassistant: Two."
    assert told in server.prompt(third.folkmoot["runId"])
    assert third.previous_response_id == second.id


def test_a_question_is_answered_by_the_next_response(client: openai.OpenAI):
    asked = client.responses.create(model="clerk", input="Where is it?")
    assert asked.output_text.startswith("Which order?")
    said = client.responses.create(model="clerk", input="1042", previous_response_id=asked.id)

    assert said.output_text == "I looked at it."
    assert said.folkmoot["runId"] == asked.folkmoot["runId"]
    assert client.responses.retrieve(asked.id).output_text == asked.output_text
    assert client.responses.retrieve(said.id).output_text == said.output_text


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_tool_of_the_client_is_called_by_the_client(client: openai.OpenAI, streaming: bool, named: bool):
    asking = {"model": "walker", "tools": [WEATHER]}
    question = {"role": "user", "content": "Shall I take an umbrella?"}
    if streaming:
        with client.responses.stream(**asking, input=[question]) as stream:
            asked = stream.get_final_response()
    else:
        asked = client.responses.create(**asking, input=[question])
    calls = [item for item in asked.output if item.type == "function_call"]
    assert [(call.name, call.arguments) for call in calls] == [
        ("weather", '{"place":"Bonn"}'),
        ("weather", '{"place":"Cologne"}'),
    ]

    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": "It rains."} for call in calls
    ]
    if named:
        said = client.responses.create(**asking, input=results, previous_response_id=asked.id)
    else:
        repeated = [item.model_dump(exclude_none=True) for item in asked.output]
        said = client.responses.create(**asking, input=[question, *repeated, *results])

    assert said.output_text == "Take one."
    assert said.folkmoot["runId"] == asked.folkmoot["runId"]


def test_a_failed_run_is_told_in_the_stream(client: openai.OpenAI):
    events = list(client.responses.create(model="broken", input="hi", stream=True))

    assert events[-1].type == "response.failed"
    assert "the model is out" in events[-1].response.error.message


def test_what_cannot_be_had_is_refused_by_name(client: openai.OpenAI):
    wrong = [
        ({"previous_response_id": "resp_none"}, openai.NotFoundError, "previous_response_id"),
        ({"background": True}, openai.BadRequestError, "background"),
        ({"tool_choice": "required"}, openai.BadRequestError, "tool_choice"),
        ({"input": [{"type": "item_reference", "id": "msg_resp_none"}]}, openai.NotFoundError, "input"),
        ({"input": [{"id": "fc_none"}]}, openai.NotFoundError, "input"),
        ({"tools": [{"type": "function"}]}, openai.BadRequestError, "tools[0]"),
    ]
    first = client.responses.create(model="desk", input="hi")
    unwanted = {"type": "function_call_output", "call_id": "none", "output": "It rains."}
    after = {"input": [unwanted], "previous_response_id": first.id}
    for body, kind, param in (*wrong, (after, openai.BadRequestError, "input")):
        with pytest.raises(kind) as refused:
            client.responses.create(**{"model": "desk", "input": "hi", **body})
        assert refused.value.param == param
    with pytest.raises(openai.NotFoundError, match="there is no response 'resp_none'"):
        client.responses.retrieve("resp_none")
