"""Clients that do not bring the results of their own tools: with the official clients against the real server."""

from typing import Any

import anthropic
import openai
import pytest

from tests.chat_apis.serving import Server
from tests.chat_apis.test_openai_chat import WEATHER
from tests.chat_apis.test_openai_waiting import user

WHY = "its conversation went on without the results that it waits for"
FUNCTION = {"type": "function", **WEATHER["function"]}
TOOL = {
    "name": "weather",
    "description": "The weather at a place.",
    "input_schema": WEATHER["function"]["parameters"],
}


def chat(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        messages: list[Any] = [user("Shall I take an umbrella?")]
        asked = client.chat.completions.create(model="walker", messages=messages, tools=[WEATHER])
        messages.append(asked.choices[0].message.model_dump(include={"role", "content", "tool_calls"}))
        messages.append(user("Never mind. A coat?"))
        return asked.folkmoot, client.chat.completions.create(model="walker", messages=messages).folkmoot


def responses(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        asked = client.responses.create(model="walker", input="Shall I take an umbrella?", tools=[FUNCTION])
        further = client.responses.create(
            model="walker", input="Never mind. A coat?", previous_response_id=asked.id
        )
        return asked.folkmoot, further.folkmoot


def messages(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    with anthropic.Anthropic(base_url=server.address, api_key="-") as client:
        asking: Any = {"model": "walker", "max_tokens": 9}
        said: list[Any] = [user("Shall I take an umbrella?")]
        asked = client.messages.create(messages=said, tools=[TOOL], **asking)
        said += [asked.to_param(), user("Never mind. A coat?")]
        return asked.folkmoot, client.messages.create(messages=said, **asking).folkmoot


@pytest.mark.parametrize("door", [chat, responses, messages])
def test_a_conversation_that_goes_on_without_the_results_ends_the_run_that_waits_for_them(
    server: Server, door: Any
):
    """It would stay in the inbox otherwise; what another client asked in the same words waits as before."""
    with openai.OpenAI(base_url=server.base, api_key="-") as other:
        same = other.chat.completions.create(
            model="walker", messages=[user("Shall I take an umbrella?")], tools=[WEATHER]
        )
    asked, further = door(server)

    ended = server.run(asked["runId"])
    assert (ended["status"], ended["error"]) == ("cancelled", WHY)
    assert further["status"] == "completed"
    assert further["runId"] != asked["runId"]
    assert further["workSessionId"] == asked["workSessionId"]
    assert server.run(same.folkmoot["runId"])["status"] == "waiting"
    open = {item["id"]: item for item in server.get("api/inbox")}
    assert not open.keys() & {*asked["waiting"]}
    assert all(open[id]["until"] > open[id]["since"] for id in same.folkmoot["waiting"])
