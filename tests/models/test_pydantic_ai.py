"""Google's models through pydantic-ai and the real `google-genai`, against a server on loopback."""

import asyncio
import base64
import os
from pathlib import Path

import pytest
import pytest_asyncio

from folkmoot.domain.message import Message, Thought, ToolCall, Usage
from folkmoot.domain.part import Part
from folkmoot.domain.settings import Provider
from folkmoot.errors import ModelFailed
from folkmoot.models.choose import ProviderModels
from folkmoot.models.outgoing import NO_RESULT
from folkmoot.models.pydantic_ai import conversation
from tests.models.gemini import MODEL, calling, gemini_models, refused, said, text
from tests.models.provider import KEY, LOOK, TALK, Do, FakeProvider, adapter, answered, asking, call, streamed

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared():
    """One server and one client for all: the client takes half a second to make."""
    async with FakeProvider() as server:
        models = gemini_models(server.port)
        yield server, adapter(models)
        await models.aclose()


@pytest.fixture
def provider(shared):
    server, _ = shared
    server.asked.clear()
    return server


@pytest.fixture
def gemini(shared):
    return shared[1]


async def failure(gemini, hear=None):
    with pytest.raises(ModelFailed) as caught:
        await gemini.answer(asking(model=MODEL), hear)
    assert KEY not in str(caught.value)
    return caught.value


async def test_a_question_and_its_answer(gemini, provider):
    provider.plays = [
        answered(said(text("I am "), text("fine."), cachedContentTokenCount=4, thoughtsTokenCount=5))
    ]

    answer = await gemini.answer(asking(model=MODEL))

    asked = provider.asked[0]
    assert asked.path.endswith(f"/models/{MODEL}:generateContent")
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["contents"] == [{"role": "user", "parts": [{"text": "How are you?"}]}]
    assert asked.body["systemInstruction"]["parts"] == [{"text": "You are kind."}]
    assert answer.message == Message("assistant", "I am fine.")
    assert answer.usage == Usage(tokens_in=10, tokens_out=8, tokens_cache_read=4)
    assert answer.stop == "STOP"


async def test_tools_go_there_and_back(gemini, provider):
    """Gemini gives its calls no ids, so neither do we; results find their calls by order."""
    provider.plays = [
        answered(said(text("I look."), calling("look", what="ä"), calling("look"))),
        answered(said()),
    ]
    first = asking(model=MODEL, tools=(LOOK,))

    answer = await gemini.answer(first)
    found = [
        Message("tool", f"found {number}", answers=one.id) for number, one in enumerate(answer.message.calls)
    ]
    await gemini.answer(asking(model=MODEL, tools=(LOOK,), messages=(*TALK, answer.message, *found)))

    assert answer.message.calls == (ToolCall("", "look", {"what": "ä"}), ToolCall("", "look"))
    (declared,) = provider.asked[0].body["tools"][0]["functionDeclarations"]
    assert (declared["name"], declared["description"]) == ("look", "Looks something up.")
    assert declared["parameters_json_schema"] == LOOK.parameters
    _, made, results = provider.asked[1].body["contents"]
    assert [part.get("functionCall", {}).get("args") for part in made["parts"]] == [None, {"what": "ä"}, {}]
    returned = [part["functionResponse"] for part in results["parts"]]
    assert [one["response"] for one in returned] == [{"return_value": "found 0"}, {"return_value": "found 1"}]
    ids = [part["functionCall"]["id"] for part in made["parts"][1:]]
    assert [one["id"] for one in returned] == ids
    assert len(set(ids)) == 2


async def test_a_stream_is_heard_piece_by_piece(gemini, provider):
    pieces = [text("I "), text("am"), {"text": "hm", "thought": True}, calling("look", what="x")]
    provider.plays = [streamed(*(said(piece, finish=None) for piece in pieces), said(text(" fine.")))]
    heard = []

    answer = await gemini.answer(asking(model=MODEL, tools=(LOOK,)), heard.append)

    assert provider.asked[0].path.endswith(":streamGenerateContent?alt=sse")
    assert heard == ["I ", "am", " fine."]
    assert (answer.message.text, answer.message.calls) == (
        "I am fine.",
        (ToolCall("", "look", {"what": "x"}),),
    )
    assert answer.message.thoughts == (Thought("thinking", "hm", at=1),)
    assert (answer.usage, answer.stop) == (Usage(10, 3), "STOP")


@pytest.mark.parametrize(
    ("reasoning", "thinking"),
    [(None, None), ("default", None), ("low", "LOW"), ("high", "HIGH")],
)
async def test_what_an_agent_sets_is_sent(gemini, provider, reasoning, thinking):
    provider.plays = [answered(said(text("fine")))]

    await gemini.answer(asking(model=MODEL, temperature=0.5, top_p=0.9, top_k=3, reasoning=reasoning))

    sent = provider.asked[0].body["generationConfig"]
    assert [sent[key] for key in ("temperature", "topP", "topK", "maxOutputTokens")] == [0.5, 0.9, 3, 500]
    assert sent.get("thinkingConfig", {}).get("thinking_level") == thinking


async def test_headers_of_the_project_are_sent(provider):
    models = gemini_models(provider.port, headers={"X-Department": "support"})
    provider.plays = [answered(said(text("fine")))]

    await adapter(models).answer(asking(model=MODEL))
    await models.aclose()

    assert provider.asked[0].headers["x-department"] == "support"


async def test_the_prefix_is_the_same_from_turn_to_turn(gemini, provider):
    provider.plays = [answered(said(text("fine")))]
    talk = (*TALK, Message("assistant", "", (call("c1", "look"),)), Message("tool", "found", answers="c1"))

    for length in (2, 4):
        await gemini.answer(asking(model=MODEL, tools=(LOOK,), messages=talk[:length]))

    first, second = (asked.body for asked in provider.asked)
    assert second["contents"][: len(first["contents"])] == first["contents"]
    assert [first[key] for key in ("tools", "systemInstruction")] == [
        second[key] for key in ("tools", "systemInstruction")
    ]


@pytest.mark.parametrize(
    ("talk", "roles"),
    [
        ((), ["user"]),
        ((Message("assistant", "I begin."),), ["user", "model", "user"]),
        ((*TALK, Message("assistant", "")), ["user", "model", "user"]),
        ((*TALK, Message("system", "Hurry."), Message("user", "")), ["user"]),
        (
            (*TALK, Message("assistant", "", (call("c1", "look"),)), Message("system", "Hurry.")),
            ["user", "model", "user"],
        ),
        ((*TALK, Message("tool", "lost", answers="c9")), ["user"]),
    ],
)
async def test_whatever_was_said_can_be_sent(gemini, provider, talk, roles):
    provider.plays = [answered(said(text("fine")))]

    await gemini.answer(asking(model=MODEL, messages=talk))

    contents = provider.asked[0].body["contents"]
    assert all(part.get("text", "x").strip() for content in contents for part in content["parts"])
    sent = [content["role"] for content in contents]
    assert [role for at, role in enumerate(sent) if at == 0 or sent[at - 1] != role] == roles


async def test_a_call_without_a_result_gets_one(gemini, provider):
    provider.plays = [answered(said(text("fine")))]

    await gemini.answer(
        asking(model=MODEL, messages=(*TALK, Message("assistant", "", (call("c1", "look"),))))
    )

    (result,) = provider.asked[0].body["contents"][-1]["parts"]
    assert result["functionResponse"] == {"id": "c1", "name": "look", "response": {"return_value": NO_RESULT}}


@pytest.mark.parametrize("hear", [None, [].append])
@pytest.mark.parametrize(
    ("play", "words", "another"),
    [
        (answered(refused(429, f"slow down, {KEY}"), 429, retry_after="7"), "429 Too Many Requests: slow down, [key]", (True, 7.0)),
        (answered(refused(429, "no more", details=[{"retryDelay": "34.5s"}]), 429), "429 Too Many Requests: no more", (True, 34.5)),
        (answered(refused(429, "no more", details=[1, {"retryDelay": 3}]), 429), "429 Too Many Requests", (True, None)),
        (answered(refused(500, "oops"), 500), "fake answered 500 Internal Server Error: oops", (True, None)),
        (answered(b"busy", 503, content_type="text/plain"), "fake answered 503 Service Unavailable", (True, None)),
        (answered(refused(400, "API key not valid"), 400), "fake answered 400 Bad Request: API key not valid", (False, None)),
        (answered(refused(404, "no such model"), 404), "fake answered 404 Not Found: no such model", (False, None)),
        ([Do.CLOSE], "fake could not be reached", (True, None)),
        ([Do.RESET], "fake could not be reached", (True, None)),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_named_and_never_with_the_key(gemini, provider, play, words, another, hear):
    """`another`: whether another attempt has a chance, and when. One is one request, whatever the library would do."""
    provider.plays = [play]

    failed = await failure(gemini, hear)

    assert words in str(failed)
    assert (failed.retryable, failed.retry_after) == another
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    "play",
    [
        answered(b"<html>a proxy</html>", content_type="text/html"),
        answered(b""),
        answered(b"{}"),
        answered(b"[1]"),
        answered({"candidates": "none"}),
        answered({"candidates": []}),
    ],
)
async def test_what_is_no_answer_is_worth_another_attempt(gemini, provider, play):
    provider.plays = [play]

    failed = await failure(gemini)

    assert failed.retryable
    assert "fake" in str(failed)


async def test_a_stream_that_ends_in_the_middle_is_no_answer(gemini, provider):
    provider.plays = [streamed(said(text("I am"), finish=None))]

    failed = await failure(gemini, [].append)

    assert (str(failed), failed.retryable) == ("fake broke off in the middle of its answer", True)


async def test_an_error_inside_a_stream_is_one(gemini, provider):
    provider.plays = [streamed(said(text("I am"), finish=None), refused(503, "overloaded", "UNAVAILABLE"))]

    failed = await failure(gemini, [].append)

    assert (str(failed), failed.retryable) == ("fake answered 503 Service Unavailable: overloaded", True)


async def test_who_gives_up_waiting_lets_go_of_the_connection(gemini, provider):
    provider.plays = [[Do.HANG]]
    asking_it = asyncio.ensure_future(gemini.answer(asking(model=MODEL)))
    await provider.hanging.wait()

    asking_it.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking_it


@pytest.mark.parametrize(
    ("vendor", "key_env"), [("google", None), ("google", "NOT_SET"), ("google-cloud", None)]
)
async def test_no_other_key_of_the_environment_goes_to_an_address(provider, vendor, key_env, monkeypatch):
    """The library would take Google's own key by itself."""
    monkeypatch.setitem(os.environ, "GOOGLE_API_KEY", "googles-own-key")
    monkeypatch.setitem(os.environ, "GEMINI_API_KEY", "googles-own-key")
    address = f"http://127.0.0.1:{provider.port}"
    one = Provider("pydantic-ai", address, key_env, provider=vendor)
    models = ProviderModels({"fake": one}, dict(os.environ), Path())
    provider.plays = [answered(said(text("fine")))]

    if key_env:
        assert "set the environment variable NOT_SET" in str(await failure(adapter(models)))
    else:
        await adapter(models).answer(asking(model=MODEL))
    await models.aclose()

    assert all("googles-own-key" not in str(asked) for asked in provider.asked)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"provider": "goggle"}, "fake cannot be asked: pydantic-ai knows no provider 'goggle'; correct `provider`"),
        ({"provider": "groq", "base_url": None, "api_key_env": None}, "fake needs a key: name its environment variable"),
        ({"provider": "deepseek", "base_url": "http://127.0.0.1:1"}, "deepseek has no `baseUrl`; leave it out"),
    ],
)  # fmt: skip
async def test_a_provider_that_cannot_be_had_so_says_why(declared, words):
    settings = {"base_url": None, "api_key_env": "FAKE_KEY", **declared}
    models = ProviderModels({"fake": Provider("pydantic-ai", **settings)}, {"FAKE_KEY": KEY}, Path())

    assert words in str(await failure(adapter(models)))


@pytest.mark.parametrize("streams", [False, True])
async def test_what_google_sealed_goes_back_with_the_call_that_it_led_to(gemini, provider, streams):
    """Without it a model that thinks forgets why it called, and Gemini 3 refuses the turn."""
    seal = base64.b64encode(b"sealed").decode()
    thinking = {"text": "Lamps, then.", "thought": True}
    made = [
        thinking,
        text("I look."),
        {**calling("look"), "thoughtSignature": seal},
        calling("look", what="x"),
    ]
    play = (
        streamed(*(said(piece, finish=None) for piece in made), said()) if streams else answered(said(*made))
    )
    provider.plays = [play, answered(said(text("fine")))]

    message = (
        await gemini.answer(asking(model=MODEL, tools=(LOOK,)), [].append if streams else None)
    ).message
    await gemini.answer(asking(model=MODEL, tools=(LOOK,), messages=(*TALK, message)))

    assert [(one.text, one.at) for one in message.thoughts] == [("Lamps, then.", 0), ("", 1)]
    spoken, first, second = provider.asked[1].body["contents"][1]["parts"]
    assert spoken == {"text": "I look."}
    assert (first["thoughtSignature"], "thoughtSignature" in second) == (seal, False)


async def test_images_and_documents_go_with_the_text(gemini, provider):
    provider.plays = [answered(said(text("fine")))]
    parts = (Part("a1", "image/png", "lamp.png", 3, 1), Part("a2", "text/plain", "list.txt", 3, 1))
    request = asking(
        model=MODEL,
        messages=(Message("user", "What is it?", parts=parts),),
        contents={"a1": b"png", "a2": b"one"},
    )

    await gemini.answer(request)

    (sent,) = provider.asked[0].body["contents"]
    assert sent["parts"] == [
        {"text": "lamp.png:"},
        {"inlineData": {"data": base64.b64encode(b"png").decode(), "mime_type": "image/png"}},
        {"text": "list.txt:\none"},
        {"text": "What is it?"},
    ]


@pytest.mark.parametrize("sees", [True, False])
async def test_images_that_tools_give_are_shown_where_they_are_seen(provider, sees):
    models = gemini_models(provider.port, images=sees)
    provider.plays = [answered(said(text("fine")))]
    image = Part("a1", "image/png", "lamp.png", 3, 1)
    given = Message("tool", "Here it is.", answers="c1", parts=(image,))
    talk = (*TALK, Message("assistant", "", (call("c1", "look"),)), given)

    await adapter(models).answer(asking(model=MODEL, tools=(LOOK,), messages=talk, contents={"a1": b"png"}))
    await models.aclose()

    sent = str(provider.asked[0].body["contents"][2:])
    assert "Here it is." in sent
    assert (base64.b64encode(b"png").decode() in sent) is sees


CLAUDE = {"type": "message", "id": "m", "model": "claude", "role": "assistant", "stop_reason": "end_turn"}


async def test_any_other_provider_of_pydantic_ai_is_asked_alike(provider):
    """Here the messages API, by Anthropic's own library: it would try three times, and has thoughts with a seal."""
    models = gemini_models(provider.port, provider="anthropic")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sealed"}
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"what": "x"}}
    usage = {
        "input_tokens": 10,
        "output_tokens": 3,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 5,
    }
    provider.plays = [
        answered(
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529, retry_after="2"
        ),
        answered({**CLAUDE, "content": [thought, use], "usage": usage}),
        answered({**CLAUDE, "content": [], "usage": usage}),
    ]
    claude, request = adapter(models), {"model": "claude-opus-5", "tools": (LOOK,)}

    with pytest.raises(ModelFailed, match="fake answered 529 Overloaded: busy") as failed:
        await claude.answer(asking(**request))
    asked_before_another_attempt = len(provider.asked)
    answer = await claude.answer(asking(**request))
    await claude.answer(asking(**request, messages=(*TALK, answer.message)))
    await models.aclose()

    assert (failed.value.retry_after, asked_before_another_attempt) == (2.0, 1)
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert answer.message.calls == (ToolCall("c1", "look", {"what": "x"}),)
    assert answer.usage == Usage(tokens_in=19, tokens_out=3, tokens_cache_read=4, tokens_cache_write=5)
    assert "cache_control" in str(provider.asked[1].body["system"])
    assert provider.asked[2].body["messages"][1]["content"] == [thought, use]


async def test_ids_are_as_long_as_a_provider_wants_them_and_still_tell_calls_apart():
    """Mistral's have nine characters."""
    talk = (
        Message("assistant", "", (call("c1", "look"), call("c2", "look"))),
        Message("tool", "x", answers="c2"),
    )

    _, made, results = conversation(talk, {}, "mistral", 9)

    ids = [part.tool_call_id for part in made.parts]
    assert [len(id) for id in ids] == [9, 9]
    assert [part.tool_call_id for part in results.parts] == [ids[1], ids[0]]
