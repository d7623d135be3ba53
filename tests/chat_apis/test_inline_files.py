"""Files inside the messages of chat clients, in every form that their libraries write."""

from base64 import b64encode

import pytest

from folkmoot.domain.part import File
from folkmoot.errors import WrongUse
from folkmoot.protocols.content import read_file_part
from tests.files import PDF, PNG

PNG64, PDF64 = b64encode(PNG).decode(), b64encode(PDF).decode()
PNG_URL, PDF_URL = f"data:image/png;base64,{PNG64}", f"data:application/pdf;base64,{PDF64}"
BASE64 = {"type": "base64", "media_type": "application/pdf", "data": PDF64}


@pytest.mark.parametrize(
    ("part", "file"),
    [
        (
            {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
            File("image.png", PNG, "image/png"),
        ),
        ({"type": "image_url", "image_url": PNG_URL}, File("image.png", PNG, "image/png")),
        (
            {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
            File("image.png", PNG, "image/png"),
        ),
        (
            {"type": "file", "file": {"filename": "bill.pdf", "file_data": PDF_URL}},
            File("bill.pdf", PDF, "application/pdf"),
        ),
        (
            {"type": "input_file", "filename": "C:\\in\\bill.pdf", "file_data": PDF_URL},
            File("bill.pdf", PDF, "application/pdf"),
        ),
        ({"type": "input_file", "file_data": PDF64}, File("file", PDF)),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}},
            File("image.png", PNG, "image/png"),
        ),
        (
            {"type": "document", "title": "bill.pdf", "source": BASE64},
            File("bill.pdf", PDF, "application/pdf"),
        ),
        ({"type": "document", "source": BASE64}, File("application.pdf", PDF, "application/pdf")),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}},
            File("document.txt", "Grüße".encode(), "text/plain"),
        ),
        ({"type": "text", "text": "hello"}, None),
        ({"type": "input_audio", "input_audio": {}}, None),
        ({}, None),
    ],
)
def test_the_content_is_taken_from_every_form(part, file):
    assert read_file_part(part) == file


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            "'https://example.com/a.png' is an address",
        ),
        (
            {"type": "input_image", "image_url": "http://127.0.0.1/a.png"},
            "'http://127.0.0.1/a.png' is an address",
        ),
        (
            {"type": "image_url", "image_url": "file:///etc/passwd"},
            "'file:///etc/passwd' is an address",
        ),
        ({"type": "image_url", "image_url": "data:image/png,abc"}, "'data:image/png,abc' is an address"),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.com"}},
            "'image' with a source of type 'url'",
        ),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "with a source of type 'file'"),
        ({"type": "file", "file": {"file_id": "f-1"}}, "a part of type 'file' holds no content"),
        ({"type": "input_file", "file_url": "https://e.com"}, "a part of type 'input_file' holds no content"),
        ({"type": "image", "source": None}, "a part of type 'image' holds no content"),
    ],
)
def test_nothing_is_fetched_for_a_client(part, why):
    with pytest.raises(WrongUse) as refused:
        read_file_part(part)

    assert why in str(refused.value)
    assert "send the content itself, as base64: nothing is fetched for a client" in str(refused.value)


def test_broken_base64_is_named():
    with pytest.raises(WrongUse, match=r"image\.png is no base64"):
        read_file_part({"type": "image_url", "image_url": "data:image/png;base64,%%%"})
