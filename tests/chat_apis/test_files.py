"""Images and documents through the doors, with the clients of their makers against the real server."""

from base64 import b64encode

import anthropic
import pytest

from folkmoot.domain.part import IMAGE_TOKENS, PAGE_TOKENS
from tests.files import PDF, PNG

BOTH = [("image.png", "image/png"), ("bill.pdf", "application/pdf")]


@pytest.fixture
def messages(server):
    with anthropic.Anthropic(base_url=server.address, api_key="none is needed here") as made:
        yield made.messages


def attached(server, answer):
    """What the run of an answer carried."""
    started = server.events(answer.folkmoot["runId"])[0]["data"]
    return [(part["name"], part["media"]) for part in started["errand"].get("attachments", ())]


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
