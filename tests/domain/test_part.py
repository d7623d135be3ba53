"""Which files are taken, as what, and for how many tokens."""

import zlib

import pytest

from folkmoot.domain.part import IMAGE_TOKENS, LARGEST, PAGE_TOKENS, File, Part, media_of, objection, recorded
from tests.files import BILL, GIF, JPEG, NOTE, PACKED, PDF, PHOTO, PNG, WEBP


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (PDF, "application/pdf"),
        ("Grüße".encode(), "text/plain"),
        (b"a\0b", ""),
        (b"\xff\xfe", ""),
        (b"PK\x03\x04", "text/plain"),
        (b"PK\x03\x04\0\0", ""),
        (b"RIFF\x10\0\0\0WAVEfmt ", ""),
    ],
)
def test_what_a_file_is_its_content_says(content, media):
    assert media_of(content) == media


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (File("a.png", b""), "a.png is empty"),
        (File("a.zip", b"PK\0"), "a.zip is nothing that a model reads; taken are PNG"),
        (
            File("a.png", JPEG, "image/png"),
            "a.png is said to be image/png, but its content is image/jpeg; taken are",
        ),
        (File("a.svg", b"<svg/>", "image/svg+xml"), "a.svg is said to be image/svg+xml, but its content is"),
        (
            File("a.gif", GIF + b"\0" * LARGEST["image"]),
            "a.gif has 5,000,016 bytes; image/gif may have 5,000,000",
        ),
        (File("a.txt", b"x" * 1_000_001), "a.txt has 1,000,001 bytes; text/plain may have 1,000,000"),
    ],
)
def test_what_is_not_taken_is_named_with_the_reason(file, why):
    assert objection(file).startswith(why)


@pytest.mark.parametrize(
    "file",
    [PHOTO, BILL, NOTE, File("a.md", b"# A", "text/markdown; charset=utf-8"), File("a", PNG, "IMAGE/PNG")],
)
def test_what_is_taken_meets_no_objection(file):
    assert objection(file) == ""


@pytest.mark.parametrize(
    ("file", "tokens"),
    [
        (PHOTO, IMAGE_TOKENS),
        (BILL, 2 * PAGE_TOKENS),
        (File("packed.pdf", PACKED), 3 * PAGE_TOKENS),
        (File("hidden.pdf", b"%PDF-1.7" + b"\0" * 100_000), 3 * PAGE_TOKENS),
        (File("broken.pdf", b"%PDF-1.7 /ObjStm stream\nno zlib"), PAGE_TOKENS),
        (NOTE, 3),
    ],
)
def test_tokens_are_guessed_from_pages_images_and_bytes(file, tokens):
    part = recorded(file, "hash")

    assert part == Part("hash", media_of(file.content), file.name, len(file.content), tokens)


def test_a_pdf_that_bursts_when_it_is_unpacked_is_read_up_to_a_bound():
    bomb = b"%PDF-1.7 /ObjStm stream\n" + zlib.compress(b"<</Type /Page>>" * 1_000_000, 9)

    assert recorded(File("bomb.pdf", bomb), "hash").tokens <= 40_000 * PAGE_TOKENS
