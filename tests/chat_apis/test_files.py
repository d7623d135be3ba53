"""Images and documents through the doors, with the clients of their makers against the real server."""

from base64 import b64encode

import anthropic
import openai
import pytest

from folkmoot.domain.part import IMAGE_TOKENS, PAGE_TOKENS
from tests.files import PDF, PNG

PNG_URL = f"data:image/png;base64,{b64encode(PNG).decode()}"
PDF_URL = f"data:application/pdf;base64,{b64encode(PDF).decode()}"
BOTH = [("image.png", "image/png"), ("bill.pdf", "application/pdf")]


@pytest.fixture
def messages(server):
    with anthropic.Anthropic(base_url=server.address, api_key="none is needed here") as made:
        yield made.messages


def attached(server, answer):
    """What the run of an answer carried."""
    started = server.events(answer.folkmoot["runId"])[0]["data"]
    return [(part["name"], part["media"]) for part in started["errand"].get("attachments", ())]


def test_chat_completions_take_images_and_files_and_keep_them_in_mind(server, client):
    """Issue 8: image and document parts pass through."""
    asked = {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is it?"},
            {"type": "image_url", "image_url": {"url": PNG_URL}},
            {"type": "file", "file": {"filename": "bill.pdf", "file_data": PDF_URL}},
        ],
    }
    first = client.chat.completions.create(model="desk", messages=[asked])
    said = {"role": "assistant", "content": first.choices[0].message.content}
    second = client.chat.completions.create(
        model="desk", messages=[asked, said, {"role": "user", "content": "the second"}]
    )

    assert first.choices[0].message.content == "Hello."
    assert attached(server, first) == attached(server, second) == BOTH
    assert first.folkmoot["workSessionId"] == second.folkmoot["workSessionId"]


def test_responses_take_them_and_go_on_with_them(server, client):
    content = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
        {"type": "input_file", "filename": "bill.pdf", "file_data": PDF_URL},
    ]
    first = client.responses.create(model="desk", input=[{"role": "user", "content": content}])
    second = client.responses.create(model="desk", input="the second", previous_response_id=first.id)

    assert attached(server, first) == attached(server, second) == BOTH


def test_messages_take_images_and_documents(server, messages):
    def source(media, content):
        return {"type": "base64", "media_type": media, "data": b64encode(content).decode()}

    content = [
        {"type": "image", "source": source("image/png", PNG)},
        {"type": "document", "title": "bill.pdf", "source": source("application/pdf", PDF)},
        {"type": "text", "text": "What is it?"},
    ]
    answer = messages.create(model="desk", max_tokens=99, messages=[{"role": "user", "content": content}])
    counted = [
        messages.count_tokens(model="desk", messages=[{"role": "user", "content": some}]).input_tokens
        for some in (content, content[2:])
    ]

    assert counted[0] - counted[1] == IMAGE_TOKENS + 2 * PAGE_TOKENS
    assert answer.content[-1].text == "Hello."
    assert attached(server, answer) == BOTH


def test_nothing_is_fetched_and_nothing_wrong_is_run(client, messages):
    url = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    lie = {"type": "image_url", "image_url": {"url": PNG_URL.replace("png", "jpeg")}}
    text = {"type": "text", "text": "What is it?"}
    with pytest.raises(openai.BadRequestError, match="nothing is fetched for a client"):
        client.chat.completions.create(model="desk", messages=[{"role": "user", "content": [text, url]}])
    with pytest.raises(openai.BadRequestError, match="said to be image/jpeg, but its content is image/png"):
        client.chat.completions.create(model="desk", messages=[{"role": "user", "content": [text, lie]}])
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    with pytest.raises(anthropic.BadRequestError, match="nothing is fetched for a client"):
        messages.create(model="desk", max_tokens=9, messages=[{"role": "user", "content": [text, linked]}])
