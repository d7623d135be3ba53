"""How an entry is written and read back."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import RunCancelled, ToolStarted
from folkmoot.errors import JournalDamaged, JournalTooNew
from folkmoot.journal.codec import (
    ORIGIN,
    UPCASTERS,
    data_of,
    decode,
    decode_event,
    encode,
    from_line,
    hash_of,
    seal,
    to_line,
)


def entry(event: Event, seq: int = 7, **more: str) -> Entry:
    draft = Draft("2026-03-01T12:00:00.000Z", event, **more)
    text, id = seal(ORIGIN, 1, encode("run-1", draft))
    return Entry(seq, 1, id, ORIGIN, "run-1", draft, text)


class Paid(Event):
    """As a later release might know it: `sum` became `cents`."""

    type = "test.paid"
    version = 3
    cents: int
    currency: str


def test_a_line_has_exactly_the_published_fields_with_nulls_for_what_is_empty():
    line = to_line(entry(RunCancelled("why"), span="0/advisor:x", agent_id="x"))

    assert line.endswith(b"}\n")
    assert msgspec.json.decode(line) == {
        "seq": 7,
        "id": entry(RunCancelled("why"), span="0/advisor:x", agent_id="x").id,
        "role": "delegation.subagent",
        "prev": "0" * 64,
        "runSeq": 1,
        "type": "run.cancelled",
        "version": 1,
        "ts": "2026-03-01T12:00:00.000Z",
        "runId": "run-1",
        "sessionId": None,
        "span": "0/advisor:x",
        "agentId": "x",
        "workSessionId": None,
        "conversationId": None,
        "data": {"reason": "why"},
    }


def test_the_text_and_the_hash_of_a_known_entry_never_change():
    """C4: a journal of any release is read by every later one."""
    known = entry(RunCancelled("why"))

    assert known.text == (
        b'{"prev":"0000000000000000000000000000000000000000000000000000000000000000","runSeq":1,'
        b'"type":"run.cancelled","version":1,"ts":"2026-03-01T12:00:00.000Z","runId":"run-1","sessionId":null,'
        b'"span":null,"agentId":null,"workSessionId":null,"conversationId":null,"data":{"reason":"why"}}'
    )
    assert known.id == "9fb1ef42e7ff1d1336a8c311551b096ca332f3d012c329ef854beff494f198b0"


def test_an_entry_made_by_hand_is_exported_like_one_that_was_read():
    written = entry(RunCancelled("why\u2028"))

    assert to_line(msgspec.structs.replace(written, text=b"")) == to_line(written)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None)
@given(arguments=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=4))
def test_whatever_a_model_sends_survives_the_way_out_and_back(arguments):
    written = entry(ToolStarted(1, 1, "x", arguments, "once", "exec", "key", "granted"))

    line = to_line(written)

    assert len(line.decode().splitlines()) == 1
    assert from_line(line) == written


def test_the_data_stands_at_the_end_of_the_text():
    draft = Draft("2026-03-01T12:00:00.000Z", RunCancelled("x\u2028"))

    assert encode("run-1", draft).endswith(b'"data":' + data_of(draft) + b"}")


@pytest.mark.parametrize("line", [b"", b"\n", b"{}", b"[1]", b"\xff\xfe", b'{"seq":1', b'{"seq":1,"id":"x"}'])
def test_what_is_no_line_of_a_journal_is_reported(line):
    with pytest.raises(JournalDamaged, match="no line of a journal"):
        from_line(line)


def test_every_changed_byte_of_a_line_is_noticed():
    """C2: damage is reported, never skipped."""
    line = to_line(entry(RunCancelled("why")))
    covered = line.index(b'"prev"')

    for position in range(covered, len(line) - 1):
        changed = line[:position] + bytes([line[position] ^ 1]) + line[position + 1 :]
        with pytest.raises(JournalDamaged):
            from_line(changed)


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"not json", b'{"type":"run.cancelled","version":1}', b'{"prev":"\xff"}'],
)
def test_an_entry_that_is_no_entry_is_reported_with_its_place(text):
    with pytest.raises(JournalDamaged, match="entry 12 of the journal, 3 of stream 'run-1'"):
        decode(12, "run-1", 3, hash_of(text), text)


def test_an_entry_that_stands_at_another_place_than_it_was_written_is_reported():
    written = entry(RunCancelled("why"))

    with pytest.raises(JournalDamaged, match="it was written as 1 of 'run-1'"):
        decode(1, "run-2", 1, written.id, written.text)


def test_an_event_with_a_field_of_the_wrong_type_is_reported_with_its_place():
    text = entry(RunCancelled("why")).text.replace(b'"why"', b"5")

    with pytest.raises(JournalDamaged, match=r"entry 1 .*reason"):
        decode(1, "run-1", 1, hash_of(text), text)


def test_an_event_of_a_newer_release_is_named_with_its_type_and_version():
    with pytest.raises(JournalTooNew, match=r"'test\.unheard' of version 2"):
        decode_event("test.unheard", 2, b"{}")
    with pytest.raises(JournalTooNew, match=r"'run\.cancelled' of version 2"):
        decode_event("run.cancelled", 2, b'{"reason":"x"}')


def test_an_unknown_event_in_a_journal_is_reported_with_its_place():
    text = entry(RunCancelled("why")).text.replace(b"run.cancelled", b"run.dismissed")

    with pytest.raises(JournalTooNew, match=r"entry 1 of the journal, 1 of stream 'run-1'.*'run\.dismissed'"):
        decode(1, "run-1", 1, hash_of(text), text)


def test_fields_that_came_later_have_their_default_in_old_events():
    assert decode_event("run.failed", 1, b'{"error":"x","stopReason":"CONTEXT"}').outcome is None


def test_an_old_event_is_brought_up_to_date_step_by_step():
    """C4: old events are upcast, never rewritten."""
    upcasters = {
        ("test.paid", 1): lambda data: {"cents": data["sum"] * 100},
        ("test.paid", 2): lambda data: {**data, "currency": "EUR"},
    }
    known = {"test.paid": Paid}

    assert decode_event("test.paid", 1, b'{"sum":5}', known, upcasters) == Paid(500, "EUR")
    assert decode_event("test.paid", 2, b'{"cents":7}', known, upcasters) == Paid(7, "EUR")
    assert decode_event("test.paid", 3, b'{"cents":7,"currency":"USD"}', known, upcasters) == Paid(7, "USD")


def test_every_version_that_an_event_ever_had_can_be_brought_up_to_date():
    steps = {(event.type, version) for event in EVENTS.values() for version in range(1, event.version)}

    assert set(UPCASTERS) == steps
