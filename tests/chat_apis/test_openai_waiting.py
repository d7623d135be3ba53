"""Runs that wait, clients that go, servers that stop: with OpenAI's own client against the real server."""

import json
import signal

import httpx
import openai
import pytest

from tests.chat_apis.conftest import AGENTS, SCRIPT
from tests.chat_apis.serving import Server, called, served, write


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize("streaming", [False, True])
def test_a_run_that_waits_for_an_approval_says_so_and_is_told_of_when_it_is_over(
    server: Server, client: openai.OpenAI, streaming: bool
):
    """It is not answered by words: whoever may, decides elsewhere."""

    def ask() -> tuple[str, dict]:
        if not streaming:
            said = client.chat.completions.create(model="payer", messages=messages)
            return said.choices[0].message.content, said.folkmoot
        chunks = list(client.chat.completions.create(model="payer", messages=messages, stream=True))
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks[-1].folkmoot

    messages = [user("Pay Ann.")]
    told, about = ask()
    (item,) = about["waiting"]
    assert about["status"] == "waiting"
    assert f"Run {about['runId']} waits for a person" in told
    assert f"{server.address}inbox/{item}" in told
    assert f"folkmoot approvals approve {item}" in told
    assert '`{"arguments":{"to":"ann"},"tool":"bank__pay"}`' in told

    messages += [assistant(told), user("yes, approve it")]
    again, still = ask()
    assert (again, still) == (told, about)

    server.call("approvals", "approve", item)
    messages += [assistant(again), user("I have approved it")]
    said, over = ask()
    assert (said, over["runId"], over["status"]) == ("Paid.", about["runId"], "completed")
    assert len([event for event in server.events(over["runId"]) if event["type"] == "tool.started"]) == 1

    messages += [assistant(said), user("thanks")]
    _, further = ask()
    assert further["runId"] != about["runId"]
    assert further["workSessionId"] == about["workSessionId"]


def ends(server: Server, run: str) -> dict:
    """The last event of a run, when it has come."""
    lines = []
    with httpx.stream("GET", f"{server.address}api/runs/{run}/stream", timeout=60) as events:
        for line in events.iter_lines():
            lines.append(line)
            assert lines.count(": still here") < 4, "nothing happens in it, and it does not end"
    return json.loads([line for line in lines if line.startswith("data: ")][-1].removeprefix("data: "))


def test_a_conversation_goes_on_after_the_server_was_started_again(tmp_path):
    """A server that stops cancels nothing: what its clients waited for is left to the next."""
    write(tmp_path, AGENTS, SCRIPT)
    messages, about = [], []

    def say(server: Server, text: str) -> str:
        messages.append(user(text))
        with openai.OpenAI(base_url=server.base, api_key="-") as client:
            said = client.chat.completions.create(model="clerk", messages=messages)
        messages.append(assistant(said.choices[0].message.content))
        about.append(said.folkmoot)
        return str(said.choices[0].message.content)

    with served(tmp_path) as server:
        assert say(server, "Where is it?").startswith("Which order?")
    with served(tmp_path) as server:
        assert say(server, "1042") == "I looked at it."
        assert say(server, "And the other?").startswith("Which order?")
        assert about[0]["runId"] == about[1]["runId"] != about[2]["runId"]
        assert len({each["workSessionId"] for each in about}) == 1

        with openai.OpenAI(base_url=server.base, api_key="-") as client:
            stream = client.chat.completions.create(model="slow", messages=[user("hi")], stream=True)
            chunk = next(chunk for chunk in stream if not chunk.choices[0].delta.role)
            server.process.send_signal(signal.SIGTERM)
            assert not any(chunk.choices[0].finish_reason for chunk in stream)
            server.process.send_signal(signal.SIGTERM)
    shown = json.loads(called(tmp_path, "runs", "show", chunk.id.removeprefix("chatcmpl-"), "--json"))
    assert shown["status"] == "interrupted"
