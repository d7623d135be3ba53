"""Events are found however the bytes are cut."""

import pytest

from folkmoot.models.http import EventParser

RAW = (
    b": a comment\n\nevent: hello\ndata: one\n\nid: 7\r\ndata:two\r\n\r\ndata: a\ndata: b\n\n"
    + "data: \u2028\u0085\x0b\n\n".encode()
    + b"retry: 5\n\n\ndata: {last}"
)
FOUND = [b"one", b"two", b"a\nb", "\u2028\u0085\x0b".encode(), b"{last}"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_the_cuts_do_not_matter(size):
    events = EventParser()

    found = [data for at in range(0, len(RAW), size) for data in events.feed(RAW[at : at + size])]

    assert found + events.end() == FOUND


@pytest.mark.parametrize("rest", [b"data: {half", b"data", b"", b"data: [DONE"])
def test_half_an_event_at_the_end_is_none(rest):
    events = EventParser()

    assert events.feed(b"data: one\n\n" + rest) == [b"one"]
    assert events.end() == []
