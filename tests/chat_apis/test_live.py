"""The words of an answer as its model says them: with the official clients against the real server.

The model cannot go on before the bell is rung, and that is done only when its first words have come.
"""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.chat_apis.serving import SETTINGS, Server, served, write
from tests.chat_apis.test_openai_waiting import ends

BELL = "bell/2"
BEGINS = "Once upon "
STORY = {"begins": BEGINS, "text": "a time.", "barrier": BELL}
TOLD = "Once upon a time."
PIN = "swordfish-1234"
AGENTS = {
    "bell": "description: Lets another go on.",
    "teller": "description: Tells stories.",
    "cut": "description: Is cut off, and begins again in the same words.",
    "other": "description: Is cut off, and then says something else.",
    "late": "description: Needs two attempts.",
    "gossip": "description: Knows a secret.",
    "lost": "description: Stops in the middle.",
    "clerk": "tools: [ask_user]",
    "rows": "output: {format: json, schema: {type: object}}",
    "front": "router: {destinations: [teller.ai]}",
    "chain": "handoff: teller.ai",
    "asker": "tools: [ask_user]\nrouter: {destinations: [teller.ai]}",
    "advised": "advisors: [expert.ai]",
    "expert": "description: Says what to tell.",
}
SCRIPT = {
    "bell": {"default": {"text": "Dong.", "barrier": BELL}},
    "teller": {"default": STORY},
    "cut": [{"attempts": [{"begins": BEGINS, "error": "the line is cut"}, STORY]}],
    "other": [{"attempts": [{"begins": BEGINS, "error": "the line is cut", "barrier": BELL}, "Never mind."]}],
    "late": [{"attempts": [{"error": "the line is busy", "barrier": BELL}, TOLD]}],
    "gossip": [{"begins": f"It is {PIN[:5]}", "text": f"{PIN[5:]}, you know.", "barrier": BELL}],
    "lost": [{"begins": BEGINS, "text": "never said", "barrier": "nobody comes/2"}],
    "clerk": [{"text": "Let me see.", "report": "It is here."}],
    "rows": [{"text": '{ "rows" : 3 }'}],
    "front": [{"text": "I pass you on.", "route": "teller"}],
    "chain": ["I have a draft."],
    "asker": [
        {"text": "One moment.", "calls": [{"tool": "ask_user", "arguments": {"question": "Which story?"}}]},
        {"route": "teller"},
    ],
    "advised": [STORY],
    "expert": ["Tell it as ever."],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    write(folder, AGENTS, SCRIPT, SETTINGS + "secrets: [TELLERS_PIN]\n")
    with served(folder, TELLERS_PIN=PIN) as running:
        yield running


Door = Callable[[Server, str], Iterator[str]]
"""What a client is given as the answer of an agent, piece by piece."""


def chat(server: Server, agent: str) -> Iterator[str]:
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        asked = [{"role": "user", "content": "a story"}]
        for chunk in client.chat.completions.create(model=agent, messages=asked, stream=True):
            yield chunk.choices[0].delta.content or ""


def responses(server: Server, agent: str) -> Iterator[str]:
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        for event in client.responses.create(model=agent, input="a story", stream=True):
            if event.type == "response.output_text.delta":
                yield event.delta
            elif event.type == "response.failed":
                raise openai.APIError(event.response.error.message, None, body=None)


def messages(server: Server, agent: str) -> Iterator[str]:
    with anthropic.Anthropic(base_url=server.address, api_key="-") as client:
        asked = [{"role": "user", "content": "a story"}]
        with client.messages.stream(model=agent, max_tokens=1000, messages=asked) as stream:
            yield from stream.text_stream


DOORS = pytest.mark.parametrize("door", [chat, responses, messages])


def ring(server: Server) -> None:
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        assert client.responses.create(model="bell", input="now").output_text == "Dong."


def heard(server: Server, words: Iterator[str], first: str = BEGINS) -> str:
    """The whole answer; the model goes on when these first words of it have come."""
    text = ""
    while text != first:
        assert first.startswith(text)
        text += next(words)
    ring(server)
    return text + "".join(words)


def last_run(server: Server, agent: str) -> Any:
    row = next(row for row in server.get("api/runs") if row["agent"] == f"{agent}.ai")
    return server.run(row["runId"])


@DOORS
def test_the_first_words_come_before_the_model_has_said_the_last(server: Server, door: Door):
    """Issue 8: what was streamed is the report, byte for byte."""
    assert heard(server, door(server, "teller")) == TOLD
    assert last_run(server, "teller")["finalReport"]["content"] == TOLD


@pytest.mark.parametrize(("door", "agent"), [(chat, "front"), (responses, "chain"), (messages, "advised")])
def test_whoever_speaks_last_is_heard_live_and_nobody_else(server: Server, door: Door, agent: str):
    assert heard(server, door(server, agent)) == TOLD


@DOORS
def test_an_attempt_that_breaks_off_is_gone_on_with_where_the_next_says_the_same(server: Server, door: Door):
    assert heard(server, door(server, "cut")) == TOLD


@DOORS
def test_what_the_client_was_told_is_not_taken_back_but_called_wrong(server: Server, door: Door):
    words = door(server, "other")
    with pytest.raises((openai.APIError, anthropic.APIError), match="what was streamed is not") as wrong:
        heard(server, words)

    run = last_run(server, "other")
    assert (run["status"], run["finalReport"]["content"]) == ("completed", "Never mind.")
    assert f"{server.address}runs/{run['runId']}" in str(wrong.value)


def test_whoever_was_told_something_else_gets_the_report_under_the_same_key(server: Server):
    again = {"Idempotency-Key": "another story"}
    with openai.OpenAI(base_url=server.base, api_key="-") as client:

        def words() -> Iterator[str]:
            asked = client.responses.create(model="other", input="a story", stream=True, extra_headers=again)
            return (event.delta for event in asked if event.type == "response.output_text.delta")

        assert heard(server, words()) == BEGINS
        assert "".join(words()) == "Never mind."


def test_no_secret_is_told_though_it_comes_in_two_pieces(server: Server):
    """Issue 5: secrets."""
    assert heard(server, chat(server, "gossip"), "It is ") == "It is {{secret:TELLERS_PIN}}, you know."


@DOORS
@pytest.mark.parametrize(("agent", "report"), [("clerk", "It is here."), ("rows", '{"rows":3}')])
def test_what_may_not_be_the_report_is_no_part_of_the_answer(
    server: Server, door: Door, agent: str, report: str
):
    """Of an agent with tools, or whose report has a form, nothing is certain before its answer is whole."""
    assert "".join(door(server, agent)) == report


def test_a_client_that_goes_after_the_first_words_cancels_its_run(server: Server):
    """O-43."""
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        stream = client.responses.create(model="lost", input="a story", stream=True)
        run = next(stream).response.id.removeprefix("resp_")
        assert any(event.type == "response.output_text.delta" for event in stream)
        stream.close()

    end = ends(server, run)
    assert (end["type"], end["data"]["reason"]) == ("run.cancelled", "its client has gone")


def test_a_client_that_comes_back_under_its_key_hears_all_from_the_first_word(server: Server):
    again = {"Idempotency-Key": "a story for tonight"}
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        asking = {"model": "teller", "input": "a story", "stream": True, "extra_headers": again}
        stream = client.responses.create(**asking)
        assert any(event.type == "response.output_text.delta" for event in stream)
        stream.close()
        events = client.responses.create(**asking)
        assert heard(server, (e.delta for e in events if e.type == "response.output_text.delta")) == TOLD


def test_a_run_that_is_gone_on_with_is_heard_live_too(server: Server):
    """What its client was told before, it is not told again."""
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        asked = client.responses.create(model="asker", input="a story")
        assert asked.output_text.startswith("Which story?")
        stream = client.responses.create(
            model="asker", input="the old one", previous_response_id=asked.id, stream=True
        )
        done = []

        def words() -> Iterator[str]:
            for event in stream:
                if event.type == "response.output_text.delta":
                    yield event.delta
                done.append(event)

        assert heard(server, words()) == TOLD
    assert done[-1].response.output_text == TOLD
    assert done[-1].response.folkmoot["runId"] == asked.folkmoot["runId"]


def test_what_is_told_as_reasoning_ends_before_the_first_word(server: Server):
    with openai.OpenAI(base_url=server.base, api_key="-") as client:
        asked = [{"role": "user", "content": "a story"}]
        with client.chat.completions.stream(model="late", messages=asked) as stream:
            assert any("late starts" in str(event) for event in stream)
            ring(server)
            assert stream.get_final_completion().choices[0].message.content == TOLD
        with client.responses.stream(model="late", input="a story") as stream:
            assert any(event.type == "response.reasoning_summary_text.delta" for event in stream)
            ring(server)
            reasoning, message = stream.get_final_response().output
            assert reasoning.summary[0].text.startswith("late starts\n")
            assert (message.type, message.content[0].text) == ("message", TOLD)
    with anthropic.Anthropic(base_url=server.address, api_key="-") as client:
        thinking = {"type": "enabled", "budget_tokens": 1024}
        with client.messages.stream(
            model="late", max_tokens=2000, messages=asked, thinking=thinking
        ) as stream:
            assert any(event.type == "thinking" for event in stream)
            ring(server)
            thought, text = stream.get_final_message().content
            assert (thought.signature, text.text) == ("folkmoot", TOLD)
