"""A request that comes again under its `Idempotency-Key`: with the official clients against the real server."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx
import openai
import pytest

from folkmoot.http.state import ServerOptions
from tests.chat_apis.conftest import AGENTS, SCRIPT
from tests.chat_apis.serving import Server, called, served, write
from tests.chat_apis.test_openai_chat import WEATHER
from tests.chat_apis.test_openai_waiting import assistant, user
from tests.chat_apis.wires import WIRES, chat, post
from tests.http.doors import serving

Ask = Callable[..., Any]


def runs_of(server: Server, request: str) -> list[str]:
    """All that were asked this."""
    return [row["runId"] for row in server.get("api/runs?limit=500") if row["request"] == request]


@pytest.mark.parametrize("door", WIRES)
def test_a_request_that_comes_again_is_the_same_run_and_is_answered_the_same(server: Server, door: Ask):
    """Never a second run and a second bill, though the first answer was given long ago."""
    asked = door("desk", f"tell me once, {door.__name__}")
    first, again = (post(server, asked, "once").json() for _ in range(2))

    for body in (first, again):
        for name in ("created", "created_at"):
            body.pop(name, None)
    assert first == again
    assert first["usage"] == again["usage"]
    assert runs_of(server, f"tell me once, {door.__name__}") == [first["folkmoot"]["runId"]]


@pytest.mark.parametrize("door", WIRES)
def test_a_key_that_was_used_for_another_request_is_refused_in_the_form_of_the_client(
    server: Server, door: Ask
):
    assert post(server, door("desk", "hi"), "mine").status_code == 200
    refused = post(server, door("desk", "the second"), "mine")

    error = refused.json()["error"]
    assert (refused.status_code, error["type"]) == (422, "invalid_request_error")
    assert error["message"] == "this Idempotency-Key was used for another request; take a new one"
    assert post(server, door("desk", "hi"), "k" * 201).status_code == 400


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("door", WIRES)
async def test_a_client_that_has_gone_comes_back_to_the_run_that_went_on(
    server: Server, door: Ask, streaming: bool
):
    """O-43: whoever gave a key may come back, so the run is not cancelled."""
    text = f"wait for me, {door.__name__} {streaming}"
    asked = door("pair", text, stream=streaming)
    key = f"come back {door.__name__} {streaming}"

    async def ask(http: httpx.AsyncClient) -> str:
        url = f"{server.base}/{asked['path']}"
        headers = {"Idempotency-Key": key}
        return (await http.post(url, json=asked["json"], headers=headers, timeout=60)).text

    async with httpx.AsyncClient() as http:
        gone = asyncio.create_task(ask(http))
        (run,) = await asked_of_a_model(server, text)
        gone.cancel()
        await asyncio.wait({gone})
    async with httpx.AsyncClient() as http:
        back = asyncio.create_task(ask(http))
        await http.post(f"{server.base}/chat/completions", json=chat("pair", "the other")["json"], timeout=60)
        told = await back

    assert "Met." in told
    assert run in told
    assert await asyncio.to_thread(runs_of, server, text) == [run]
    types = [event["type"] for event in await asyncio.to_thread(server.events, run)]
    assert types.count("llm.request") == 1
    assert types[-1] == "run.completed"


async def asked_of_a_model(server: Server, request: str) -> list[str]:
    """The runs with this request, when the first model was asked in one."""
    for _ in range(1_000):
        for run in await asyncio.to_thread(runs_of, server, request):
            events = await asyncio.to_thread(server.events, run)
            if any(event["type"] == "llm.request" for event in events):
                return [run]
    raise AssertionError("no model was asked")


def test_a_failed_run_is_told_again_and_not_tried_again(server: Server, client: openai.OpenAI):
    for _ in range(2):
        with pytest.raises(openai.InternalServerError, match="the model is out"):
            client.chat.completions.create(
                model="broken",
                messages=[user("try it, once")],
                extra_headers={"Idempotency-Key": "fails"},
            )

    assert len(runs_of(server, "try it, once")) == 1


def test_an_answer_that_comes_again_answers_nothing_else(server: Server, client: openai.OpenAI):
    """The same words would fit the run's next question too."""

    def say(key: str) -> Any:
        return client.chat.completions.create(
            model="asker", messages=said, extra_headers={"Idempotency-Key": key}
        )

    said = [user("A shirt.")]
    asked = say("shirt 1")
    said += [assistant(asked.choices[0].message.content), user("blue")]
    first, again = say("shirt 2"), say("shirt 2")

    assert first.id == again.id
    assert first.choices[0].message.content.startswith("Which size?")
    assert first.choices == again.choices
    assert (first.usage, first.folkmoot) == (again.usage, again.folkmoot)
    answers = [e for e in server.events(asked.folkmoot["runId"]) if e["type"] == "question.answered"]
    assert [event["data"]["text"] for event in answers] == ["blue"]


async def test_an_answer_that_comes_again_after_a_restart_answers_nothing_else(desk):
    """Whether the run had taken it in by then or not: it lies in its inbox."""
    questions = [
        {"calls": [{"tool": "ask_user", "arguments": {"question": f"Which {what}?"}}]} for what in "ab"
    ]
    at = desk({"asker": "tools: [ask_user]"}, {"asker": [*questions, "Ordered."]})
    said = [user("A shirt.")]

    async def say(key: str) -> Any:
        async with (
            serving(at, ServerOptions(port=0)) as door,
            openai.AsyncOpenAI(base_url=f"{door.address}v1", api_key="-") as client,
        ):
            headers = {"Idempotency-Key": key}
            return await client.chat.completions.create(model="asker", messages=said, extra_headers=headers)

    asked = await say("first")
    said += [assistant(asked.choices[0].message.content), user("blue")]
    told, again = await say("second"), await say("second")

    for answer in (told, again):
        assert answer.choices[0].message.content.startswith("Which b?")
    assert (again.id, again.usage, again.folkmoot) == (told.id, told.usage, told.folkmoot)
    async with at.open() as moot:
        answers = [item.text for item in await moot.inbox()]
    assert answers == ["blue", ""]


class Walk:
    """A client's conversation in which its own tools are called, with a key for each request."""

    def __init__(self, server: Server, clients: ExitStack) -> None:
        self.client = clients.enter_context(openai.OpenAI(base_url=server.base, api_key="-", max_retries=0))

    def ask(self, key: str, messages: Any, model: str = "walker", **more: Any) -> Any:
        if model == "walker":
            more["tools"] = [WEATHER]
        headers = {"Idempotency-Key": key}
        return self.client.chat.completions.create(
            model=model, messages=messages, extra_headers=headers, **more
        )


def test_whatever_was_asked_before_a_restart_is_known_after_it(tmp_path):
    """The calls of a client's tools, their results and a run that was cut off: from the journal."""
    write(tmp_path, AGENTS, SCRIPT)
    said: list[Any] = [user("Shall I take an umbrella?")]
    with ExitStack() as clients, served(tmp_path) as server:
        walk = Walk(server, clients)
        asked = walk.ask("walk 1", said)
        message = asked.choices[0].message
        results = [{"role": "tool", "tool_call_id": c.id, "content": "It rains."} for c in message.tool_calls]
        results.insert(0, message.model_dump(include={"role", "content", "tool_calls"}))
        told = walk.ask("walk 2", said + results)
        stream = walk.ask("cut", [user("hi")], "pair", stream=True)
        cut = next(chunk for chunk in stream if not chunk.choices[0].delta.role).id
        server.process.send_signal(signal.SIGTERM)
        with suppress(openai.APIError):
            list(stream)
        server.process.send_signal(signal.SIGTERM)

    with ExitStack() as clients, served(tmp_path) as server:
        walk = Walk(server, clients)
        first, again = walk.ask("walk 1", said), walk.ask("walk 2", said + results)
        assert (first.id, first.choices, first.usage) == (asked.id, asked.choices, asked.usage)
        assert (again.id, again.choices, again.usage) == (told.id, told.choices, told.usage)
        for key in ("walk 1", "walk 2"):
            with pytest.raises(openai.UnprocessableEntityError, match="used for another request"):
                walk.ask(key, [user("hi")], "desk")
        other = walk.ask("", [user("the other")], "pair", stream=True)
        back = list(walk.ask("cut", [user("hi")], "pair", stream=True))
        list(other)
    assert {chunk.id for chunk in back} == {cut}
    assert "".join(chunk.choices[0].delta.content or "" for chunk in back) == "Met."
    shown = json.loads(called(tmp_path, "runs", "list", "--json"))
    assert [row["status"] for row in shown] == ["completed"] * 3


@asynccontextmanager
async def cutting(server: Server, run_began: Callable[[], Any]) -> AsyncIterator[str]:
    """An address in front of the server whose first connection breaks as soon as its run has begun."""
    there = urlsplit(server.address)
    connections = 0

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        is_first = connections == 1
        back, forth = await asyncio.open_connection(there.hostname, there.port)
        ways = [asyncio.create_task(copied(reader, forth)), asyncio.create_task(copied(back, writer))]
        if is_first:
            ways.append(asyncio.create_task(run_began()))
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, forth):
            end.close()

    async def copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()

    listening = await asyncio.start_server(relay, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_a_client_sends_again_by_itself_is_safe_under_the_key_that_it_draws(
    server: Server, kind: str
):
    """Both clients draw a key for each call and keep it when they try again, and send it once they know the header."""
    text = f"a bad line, {kind}"

    async def run_began() -> None:
        await asked_of_a_model(server, text)

    async with cutting(server, run_began) as address:
        client: Any
        if kind == "openai":
            client = openai.AsyncOpenAI(base_url=f"{address}v1", api_key="-")
            asking = {"create": client.chat.completions.create, "more": {}}
        else:
            client = anthropic.AsyncAnthropic(base_url=address, api_key="-")
            asking = {"create": client.messages.create, "more": {"max_tokens": 9}}
        client._idempotency_header = "Idempotency-Key"
        async with client, openai.AsyncOpenAI(base_url=server.base, api_key="-") as other:
            waiting = asyncio.create_task(
                asking["create"](model="pair", messages=[user(text)], **asking["more"])
            )
            await run_began()
            await other.chat.completions.create(model="pair", messages=[user("the other")])
            told = await waiting

    assert "Met." in told.to_json()
    assert await asyncio.to_thread(runs_of, server, text) == [told.folkmoot["runId"]]
