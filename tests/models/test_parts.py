"""Images and documents on both wires, and what a script sees of them."""

import json
from base64 import b64encode

from folkmoot import ScriptedModel
from folkmoot.domain.message import Message
from folkmoot.domain.part import IMAGE_TOKENS, recorded
from tests.files import BILL, NOTE, PDF, PHOTO, PNG
from tests.models.provider import asking

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

    assert answer.message.calls[0].arguments["report_content"] == "A parcel."
    assert answer.usage.tokens_in > IMAGE_TOKENS
    assert without.message.text == "nothing attached"
