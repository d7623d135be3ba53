"""Events as a list shows them: one line each, whatever kind they are of."""

from __future__ import annotations

from folkmoot.domain.entry import Entry, role
from folkmoot.domain.sentences import describe_event
from folkmoot.domain.value import Value

KINDS = {
    "llm.": "model",
    "tool.": "tool",
    "approval.": "wait",
    "question.": "wait",
    "advisor.": "advisor",
    "router.": "transfer",
    "handoff.": "transfer",
    "team.": "team",
    "decision.": "team",
    "a2a.": "team",
}
"""The kind of operation, by how the type of an event begins; others are the session's own."""


class EventRow(Value):
    seq: int
    ts: str
    type: str
    kind: str
    role: str
    agent: str
    stream: str
    span: str
    said: str

    @property
    def place(self) -> str:
        """Its stream, and where in it."""
        return self.stream if self.span in ("", "0") else f"{self.stream} {self.span}"


def event_row(entry: Entry) -> EventRow:
    draft = entry.draft
    return EventRow(
        seq=entry.seq,
        ts=draft.ts,
        type=draft.event.type,
        kind=_kind(draft.event.type),
        role=role(draft),
        agent=draft.agent_id,
        stream=entry.stream,
        span=draft.span,
        said=describe_event(draft.event, draft.agent_id, content=True, width=160),
    )


def _kind(type: str) -> str:
    if type.endswith((".failed", ".denied", ".abandoned")):
        return "fail"
    return next((kind for start, kind in KINDS.items() if type.startswith(start)), "session")
