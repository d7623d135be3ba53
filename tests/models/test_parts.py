"""Images and documents on both wires, and what a script sees of them."""

import json
from base64 import b64encode

import pytest
from msgspec.structs import replace

from folkmoot import ScriptedModel
from folkmoot.domain.message import Message
from folkmoot.domain.part import IMAGE_TOKENS, recorded
from folkmoot.domain.providers import BUILT_IN
from folkmoot.domain.settings import Provider
from folkmoot.errors import ModelFailed
from folkmoot.models.outgoing import sight_of
from tests.files import BILL, NOTE, PDF, PHOTO, PNG
from tests.models.provider import adapter, asking, call, fake_models

FILES = {"a1": PHOTO, "a2": BILL, "a3": NOTE}
PARTS = tuple(recorded(file, id) for id, file in FILES.items())
CONTENTS = {id: file.content for id, file in FILES.items()}
TALK = (Message("system", "Be kind."), Message("user", "What is it?", parts=PARTS))
PNG64, PDF64 = b64encode(PNG).decode(), b64encode(PDF).decode()


def carrying(**more):
    return asking(messages=TALK, contents=CONTENTS, caching="none", **more)


def test_chat_completions_get_data_urls_a_file_and_text(openai):
    body = json.loads(openai.body(carrying(), stream=False))

    assert body["messages"][1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "photo.png:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}"}},
            {
                "type": "file",
                "file": {"filename": "bill.pdf", "file_data": f"data:application/pdf;base64,{PDF64}"},
            },
            {"type": "text", "text": "note.txt:\nGrüße"},
            {"type": "text", "text": "What is it?"},
        ],
    }


def test_the_messages_api_gets_images_and_documents_with_their_names(anthropic):
    body = json.loads(anthropic.body(carrying(model="claude-opus-5"), stream=False))

    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "photo.png:"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}},
        {
            "type": "document",
            "title": "bill.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF64},
        },
        {
            "type": "document",
            "title": "note.txt",
            "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"},
        },
        {"type": "text", "text": "What is it?"},
    ]


IMAGE = replace(PARTS[0], name="a1b2")
CALLS = Message("assistant", "", (call("c1", "look"), call("c2", "look")))
GIVEN = (
    Message("user", "Look."),
    CALLS,
    Message("tool", "one", answers="c1", parts=(IMAGE,)),
    Message("tool", "two", answers="c2"),
)
SHOWN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}}


def test_an_image_of_a_tool_stands_in_its_result(adapter_of):
    """Issue 8, where the wire can carry it."""
    adapter = adapter_of("anthropic", images=True)
    body = json.loads(adapter.body(asking(messages=GIVEN, contents=CONTENTS, caching="none"), stream=False))

    first, second = body["messages"][2]["content"]
    assert first["content"] == [{"type": "text", "text": "one"}, SHOWN]
    assert second["content"] == "two"


def test_chat_completions_get_the_images_of_tools_behind_all_results(adapter_of):
    adapter = adapter_of("openai", images=True)
    longer = (*GIVEN, Message("assistant", "Seen."), Message("user", "And?"))
    body = json.loads(adapter.body(asking(messages=longer, contents=CONTENTS), stream=False))

    assert [message["role"] for message in body["messages"]] == [
        *("user", "assistant", "tool", "tool", "user"),
        *("assistant", "user"),
    ]
    assert body["messages"][4]["content"] == [
        {"type": "text", "text": "a1b2:"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}"}},
    ]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_server_of_which_nobody_knows_reads_only_where_the_image_is_kept(adapter_of, kind):
    """A model that takes none would refuse the whole conversation."""
    adapter = adapter_of(kind)
    given = {"contents": CONTENTS, "caching": "none"}
    with_image = adapter.body(asking(messages=GIVEN, **given), stream=False)
    without = tuple(replace(message, parts=()) for message in GIVEN)

    assert with_image == adapter_of(kind).body(asking(messages=without, **given), stream=False)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_provider_without_eyes_refuses_before_it_is_asked(adapter_of, provider, kind):
    with pytest.raises(ModelFailed, match="fake takes no images") as refused:
        await adapter_of(kind, images=False).answer(carrying())

    assert not refused.value.retryable
    assert provider.asked == []


@pytest.mark.parametrize(
    ("provider", "sees"),
    [
        (Provider("openai"), True),
        (BUILT_IN["openai"], True),
        (BUILT_IN["anthropic"], True),
        (BUILT_IN["google"], True),
        (BUILT_IN["ollama"], None),
        (BUILT_IN["cohere"], None),
        (Provider("openai", base_url="u"), None),
        (Provider("openai", base_url="u", images=True), True),
        (Provider("openai", images=False), False),
    ],
)
def test_providers_at_their_own_address_see(provider, sees):
    assert sight_of(provider) is sees


@pytest.fixture
async def adapter_of(provider):
    """`adapter_of("anthropic", images=True)`: an adapter for such a provider."""
    made = []

    def make(kind, **more):
        made.append(fake_models(provider.port, kind, **more))
        return adapter(made[-1])

    yield make
    for models in made:
        await models.aclose()


def test_content_is_encoded_once_for_a_conversation_that_goes_on(either):
    first = json.loads(either.body(carrying(), stream=False))
    longer = (*TALK, Message("assistant", "A parcel."), Message("user", "Whose?"))
    then = json.loads(either.body(asking(messages=longer, caching="none"), stream=False))

    sent = [message for message in first["messages"] if message["role"] == "user"]
    assert [message for message in then["messages"] if message["role"] == "user"][:1] == sent


async def test_a_script_sees_names_and_kinds_and_counts_what_they_may_cost():
    seen = {"when": "[attached: photo.png (image/png, 32 bytes)]", "report": "A parcel."}
    model = ScriptedModel({"a": {"rules": [seen], "default": "nothing attached"}})

    answer = await model.answer(carrying())
    without = await model.answer(asking())

    assert answer.message.text == "A parcel."
    assert answer.usage.tokens_in > IMAGE_TOKENS
    assert without.message.text == "nothing attached"
