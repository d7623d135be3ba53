"""How a failure reads, and how long the provider wants to be left alone."""

import pytest
from multidict import CIMultiDict

from folkmoot.models.failure import SHOWN, cleaned, of_error, of_status, of_unreadable, wait_asked

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "30"}, 30.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "86400"}, 86400.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT", "Date": DATE}, 10.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:27:00 GMT", "Date": DATE}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "12", "x-ratelimit-reset-tokens": "1h"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 30.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1792567685000", "Date": DATE}, 5.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1792567685", "Date": DATE}, 5.0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-10-21T07:28:20Z",
                "anthropic-ratelimit-output-tokens-remaining": "0",
                "anthropic-ratelimit-output-tokens-reset": "2026-10-21T07:29:00Z",
                "Date": DATE,
            },
            60.0,
        ),
        (
            {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "later"},
            None,
        ),
    ],
)
def test_every_usual_way_to_ask_for_a_pause_is_understood(headers, seconds):
    """Dates are compared with the provider's own clock: ours may be wrong."""
    assert wait_asked(CIMultiDict(headers)) == seconds


def test_a_pause_that_was_asked_for_is_told():
    """A pause of a day is why no other attempt is made."""
    failed = of_status("p", 429, {"retry-after": "86400"}, b"slow down", "")

    assert str(failed) == "p answered 429 Too Many Requests: slow down; it asks for a pause of 1d"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": {"message": "no such model", "type": "x"}}', "no such model"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"detail": "no such model"}', "no such model"),
        (b'{"detail": [{"loc": ["a"], "msg": "\xc3\xa4"}]}', '[{"loc": ["a"], "msg": "ä"}]'),
        (b'[{"error": {"message": "no such model"}}]', "no such model"),
        (b'{"strange": 1}', "{'strange': 1}"),
        (b"5", "5"),
        (b"no such model", "no such model"),
        (b"<p>no <b>such</b> model</p><script>x()</script>", "no such model"),
        (b"no\x1b[31m such\r\n\xe2\x80\xa8\xe2\x80\xae model\x00", "no [31m such model�"),
    ],
)
def test_the_providers_own_words_are_found_and_made_one_line(body, text):
    failed = of_status("fake", 404, {}, body, "")

    assert str(failed).replace('"', "'") == f"fake answered 404 Not Found: {text}".replace('"', "'")


@pytest.mark.parametrize("status", [404, 599])
def test_without_words_the_status_stands_alone(status):
    named = {404: "404 Not Found", 599: "599"}[status]

    assert str(of_status("fake", status, {}, b"", "")) == f"fake answered {named}"


def test_long_words_are_cut():
    failed = of_status("fake", 500, {}, b"x" * 100_000, "")

    assert str(failed) == f"fake answered 500 Internal Server Error: {'x' * SHOWN}…"


@pytest.mark.parametrize(
    ("said", "secret", "shown"),
    [
        ("key k1234 is bad", "k1234", "key [key] is bad"),
        ("key a%2Fb%2Bc== is bad", "a/b+c==", "key a%2Fb%2Bc== is bad"),
        ("key a%2Fb%2Bc%3D%3D is bad", "a/b+c==", "key [key] is bad"),
        ('key a\\"b3 is bad', 'a"b3', "key [key] is bad"),
        ("key sk-other12345 is bad", "k1234", "key [key] is bad"),
        ("sent Bearer abc.def", "k1234", "sent Bearer [key]"),
        ("an odd day", "", "an odd day"),
        ("an odd day", "d", "an odd day"),
        ("x" * (SHOWN - 3) + "k1234", "k1234", "x" * (SHOWN - 3) + "[ke…"),
    ],
)
def test_keys_are_taken_out_in_whatever_form_before_anything_is_cut(said, secret, shown):
    assert cleaned(said, secret) == shown


def test_an_error_that_is_nested_beyond_reason_is_shown_as_text():
    assert "broke off with an error" in str(of_error("fake", [[]], ""))
    assert "[[[[" in str(of_status("fake", 500, {}, b"[" * 100_000, ""))


def test_what_is_no_answer_is_shown_with_the_reason():
    failed = of_unreadable("fake", b"nothing of the kind", "not JSON", "")

    assert str(failed) == "fake answered 200 OK with what is no answer (not JSON): nothing of the kind"


@pytest.mark.parametrize("filling", [b" ", b"\n", b"<br>"])
def test_half_a_key_at_the_end_of_what_is_read_is_not_shown(filling):
    body = b"no " + (filling * 20_000)[: 20_000 - 3 - 8] + b"secret-key-4711" + filling * 100

    assert "secret" not in str(of_status("fake", 500, {}, body, "secret-key-4711"))
