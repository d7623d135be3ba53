"""How an entry is written: as one text, which is hashed, stored and exported byte for byte.

The text is a JSON object in UTF-8 without spaces, its keys in this order, empty strings as null:

    {"prev":…,"runSeq":…,"type":…,"version":…,"ts":…,"runId":…,"sessionId":…,"span":…,"agentId":…,
     "workSessionId":…,"conversationId":…,"epoch":…,"data":{…}}

`epoch` is there only in what a run's second and later claims wrote.

`id` is the SHA-256 of the text, `prev` the id of the entry before it in its stream, 64 zeros for the first.
An exported line is the text with `seq`, `id` and `role` put in front (`seq` is only the place in one journal,
`role` is derived), so everyone can check a line without knowing JSON:

    id == sha256(b"{" + line[line.index(b'"prev":'):].rstrip(b"\\n")).hexdigest()

The line separators U+0085, U+2028 and U+2029 are written as escapes, so that no reader splits a line in two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, Entry, Event, role
from folkmoot.domain.events import RunPruned
from folkmoot.domain.read_model import is_record, unread
from folkmoot.domain.value import Value
from folkmoot.errors import JournalDamaged, JournalTooNew, WrongUse
from folkmoot.ports import Query, Stored

ORIGIN = "0" * 64
"""What stands before the first entry of a stream."""

LIMIT = 65_536
"""Bytes; more than this lies beside the journal as an artifact."""

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What reading JSON from anywhere may raise."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes the data of one version into the data of the next."""

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""By type and the version they start from. Old events are brought up to date when read, never rewritten."""


def to_line(entry: Entry) -> bytes:
    """The entry as it is shown outside: one line of NDJSON."""
    front = f'{{"seq":{entry.seq},"id":"{entry.id}","role":"{role(entry.draft)}",'
    return b"%b%b\n" % (front.encode(), text_of(entry)[1:])


def from_line(line: bytes) -> Entry:
    """Read back what `to_line` wrote; raises `JournalDamaged` for anything else."""
    return to_entry(stored_line(line))


def stored_line(line: bytes) -> Stored:
    """A line as it lies there; only that it is one is certain."""
    line = line.rstrip(b"\n")
    try:
        place = _PLACE.decode(line)
    except UNREADABLE as error:
        raise JournalDamaged(f"this is no line of a journal ({error}): {line[:80]!r}") from error
    text = b"{" + line[max(line.find(b'"prev":'), 0) :]
    return Stored(place.seq, place.run_id, place.run_seq, place.type, place.id, text)


def to_entry(stored: Stored) -> Entry:
    """What was stored, checked. Raises `JournalDamaged`, with the place, if it is not what was written."""
    if stored.fault:
        raise JournalDamaged(f"{place_of(stored.seq, stored.stream, stored.run_seq)}: {stored.fault}")
    entry = decode(stored.seq, stored.stream, stored.run_seq, stored.id, stored.text)
    if entry.event.type != stored.type and (type := written_type(stored.text)) != stored.type:
        place = place_of(stored.seq, stored.stream, stored.run_seq)
        raise JournalDamaged(f"{place}: it was written as {type!r}, not as {stored.type!r}")
    return entry


def to_applied(stored: Stored) -> Entry:
    """For the read model. A record that is damaged has a row: it does not hide the others."""
    try:
        return to_entry(stored)
    except JournalDamaged:
        if not is_record(stored.stream):
            raise
        return unread(stored.seq, stored.stream, stored.run_seq)


def written_type(text: bytes) -> str:
    """Also of an event that has another name by now."""
    start = text.find(b'"type":"') + 8
    return text[start : text.find(b'"', start)].decode("utf-8", "replace")


def text_of(entry: Entry) -> bytes:
    """What is hashed."""
    return entry.text or seal(entry.prev, entry.run_seq, encode(entry.stream, entry.draft))[0]


def encode(stream: str, draft: Draft) -> bytes:
    """The part of the text that does not depend on where in the stream it will stand."""
    event = draft.event
    body = _Body(
        event.type,
        event.version,
        draft.ts,
        stream,
        draft.session_id or None,
        draft.span or None,
        draft.agent_id or None,
        draft.work_session_id or None,
        draft.conversation_id or None,
        draft.epoch or msgspec.UNSET,
        event,
    )
    try:
        text = _encode(body)
    except (UnicodeEncodeError, TypeError) as error:
        raise WrongUse(f"a {event.type} event holds what cannot be stored: {error}") from error
    return text if text.isascii() else _on_one_line(text)


def seal(prev: str, run_seq: int, body: bytes) -> tuple[bytes, str]:
    """The whole text of an entry that takes this place in its stream, and its id."""
    text = b'{"prev":"%b","runSeq":%d,%b' % (prev.encode(), run_seq, body[1:])
    return text, sha256(text).hexdigest()


def data_of(draft: Draft) -> bytes:
    """The event alone, as it stands at the end of the text."""
    return _on_one_line(_encode(draft.event))


def data_in(text: bytes) -> bytes:
    """What `data_of` put into this text. In JSON no string can hold these six characters unescaped."""
    return text[text.index(b',"data":') + 8 : -1]


def decode(seq: int, stream: str, run_seq: int, id: str, text: bytes) -> Entry:
    """The entry at this place. Raises `JournalDamaged`, with the place, if it is not what was written."""
    if hash_of(text) != id:
        raise JournalDamaged(f"{place_of(seq, stream, run_seq)}: its content does not match its hash")
    try:
        read = _TEXT.decode(text)
        event = decode_event(read.type, read.version, read.data)
    except JournalTooNew as error:
        raise JournalTooNew(f"{place_of(seq, stream, run_seq)}: {error}") from error
    except UNREADABLE as error:
        raise JournalDamaged(f"{place_of(seq, stream, run_seq)}: {error}") from error
    if (read.run_id, read.run_seq) != (stream, run_seq):
        raise JournalDamaged(
            f"{place_of(seq, stream, run_seq)}: it was written as {read.run_seq} of {read.run_id!r}"
        )
    draft = Draft(
        read.ts,
        event,
        read.session_id or "",
        read.span or "",
        read.agent_id or "",
        read.work_session_id or "",
        read.conversation_id or "",
        read.epoch or 0,
    )
    return Entry(seq, run_seq, id, read.prev, stream, draft, text)


def decode_event(
    type: str,
    version: int,
    data: bytes | msgspec.Raw,
    events: Mapping[str, type[Event]] = EVENTS,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> Event:
    """The event as this release knows it."""
    known = events.get(type)
    if known is None or version > known.version:
        raise JournalTooNew(
            f"an event {type!r} of version {version} was written by a newer release; update Folkmoot"
        )
    if version == known.version:
        return _decoder(known).decode(data)
    fields: dict[str, Any] = msgspec.json.decode(data)
    for step in range(version, known.version):
        fields = upcasters[type, step](fields)
    return msgspec.convert(fields, known)


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def place_of(seq: int, stream: str, run_seq: int) -> str:
    """For people who look for a damaged entry."""
    return f"entry {seq} of the journal, {run_seq} of stream {stream!r}"


class _Body(msgspec.Struct, rename="camel", gc=False):
    type: str
    version: int
    ts: str
    run_id: str
    session_id: str | None
    span: str | None
    agent_id: str | None
    work_session_id: str | None
    conversation_id: str | None
    epoch: int | msgspec.UnsetType = msgspec.UNSET
    data: Any = None


class _Text(_Body, kw_only=True):
    data: msgspec.Raw
    prev: str
    run_seq: int


class _Place(msgspec.Struct, rename="camel"):
    seq: int
    id: str
    run_id: str
    run_seq: int
    type: str


_TEXT = msgspec.json.Decoder(_Text)
_PLACE = msgspec.json.Decoder(_Place)
_encode = msgspec.json.Encoder().encode
_DECODERS: dict[type[Event], msgspec.json.Decoder[Event]] = {}


def _decoder(event: type[Event]) -> msgspec.json.Decoder[Event]:
    if event not in _DECODERS:
        _DECODERS[event] = msgspec.json.Decoder(event)
    return _DECODERS[event]


def _on_one_line(text: bytes) -> bytes:
    if text.isascii():
        return text
    return (
        text.replace(b"\xc2\x85", b"\\u0085")
        .replace(b"\xe2\x80\xa8", b"\\u2028")
        .replace(b"\xe2\x80\xa9", b"\\u2029")
    )


def check_stream(stream: str, entries: Iterable[Stored]) -> None:
    """Refuse a stream that does not hang together: `JournalDamaged` names the place."""
    before: Entry | None = None
    for stored in entries:
        entry = to_entry(stored)
        fault = broken_link(before, entry)
        if entry.stream != stream or fault:
            place = place_of(entry.seq, entry.stream, entry.run_seq)
            raise JournalDamaged(f"{place}: {fault or f'it does not belong to {stream!r}'}")
        before = entry


class Head(Value):
    """Where a stream ends."""

    run_seq: int
    id: str


def broken_link(before: Entry | Head | None, entry: Entry) -> str:
    """Why this entry cannot stand after that one; empty if it can."""
    if before is None and entry.event.type == RunPruned.type:
        return ""  # what stood before it was removed
    run_seq, id = (before.run_seq, before.id) if before else (0, ORIGIN)
    if entry.run_seq != run_seq + 1:
        return f"it follows on {run_seq}: entries are missing or doubled"
    if entry.prev != id:
        return f"it was written after another entry than {run_seq}"
    return ""


async def linked(stored: AsyncIterator[Stored], query: Query) -> AsyncIterator[Entry]:
    """The entries that a query found. A stream that is read whole must hang together: a gap is damage, no end."""
    whole = bool(query.stream) and not query.types and not query.newest_first and not query.seqs
    before: Entry | None = None
    async for one in stored:
        entry = to_entry(one)
        if whole and (before or not query.after):
            require_link(before, entry)
        yield entry
        before = entry


def require_link(before: Entry | None, entry: Entry) -> None:
    """Raise JournalDamaged if this entry cannot stand after that one."""
    if fault := broken_link(before, entry):
        raise JournalDamaged(f"{place_of(entry.seq, entry.stream, entry.run_seq)}: {fault}")
