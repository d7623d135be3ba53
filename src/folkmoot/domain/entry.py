"""A line of the journal: an event with who, where and when; as a draft before it is written, as an entry after."""

from __future__ import annotations

from folkmoot.domain.event import Event
from folkmoot.domain.value import Value


class Draft(Value):
    """An event that its owner wants written."""

    ts: str
    """UTC, ISO 8601 with milliseconds and `Z`."""
    event: Event
    session_id: str = ""
    span: str = ""
    agent_id: str = ""
    work_session_id: str = ""
    conversation_id: str = ""
    epoch: int = 0
    """Under which claim of its run it was written, from the second on."""


class Entry(Value):
    """An event that is durable. `prev` is the id of the entry before it in its stream, `id` its own hash."""

    seq: int
    """Position in the whole journal; no smaller one ever becomes visible later."""
    run_seq: int
    """Position in its stream, dense from 1."""
    id: str
    prev: str
    stream: str
    """The run, work session or task it belongs to."""
    draft: Draft
    text: bytes = b""
    """The entry as it was written and hashed: its JSON without `seq`, `id` and `role`. Kept because an event may have
    been brought up to date since, which must change neither its hash nor its export. Empty in an entry that no
    journal wrote."""

    @property
    def event(self) -> Event:
        return self.draft.event
