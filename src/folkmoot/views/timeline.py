"""Events one line each: the lines of a run, rows of the list of all events, and the timeline of a work session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft, Entry, Event, role
from folkmoot.domain.events import LlmRequest, LlmResponse, SessionCompleted
from folkmoot.domain.message import visible
from folkmoot.domain.report import BROADCAST, ROUTE
from folkmoot.domain.sentences import describe_event, missing_in
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value

SHOWN = frozenset(
    """
    session.started session.completed session.failed session.cancelled run.cancel_requested run.forked run.repinned
    llm.failed tool.started tool.failed tool.in_doubt tool.settled approval.requested approval.approved approval.denied
    approval.revoked approval.declined approval.expired gate.changed client.called client.answered question.asked
    question.answered router.selected budget.exceeded system.error cache.hit result.summarized claim.demoted
    parent.refused clarification.refused team.started team.broadcast team.member_exited plan.rejected step.started
    decision.proposed decision.deliberated decision.voted decision.escalated decision.committed
    """.split()
)
"""The events of a run that people see, as far as `_is_shown` does not say otherwise."""
DETAILS = frozenset(("llm.request", "llm.response", "tool.finished", "session.destroyed"))
"""What only those see who ask for it."""
_PROGRESS = 300
"""Characters."""
_SAME_AGENT = ("turn:", "cycle:", "mission:", "to:", "try:", "round:")
"""Parts of a span that lead to no other agent: `turn:3/call:2` is one step down, not two."""


def timeline(drafts: Iterable[Draft], *, detailed: bool = False) -> Iterator[str]:
    for draft in drafts:
        if line := line_of(draft, detailed=detailed):
            yield line


def line_of(draft: Draft, *, detailed: bool = False) -> str:
    """One line for people; empty for what they need not see."""
    if not (_is_shown(draft.event) or (detailed and draft.event.type in DETAILS)):
        return ""
    above = sum(not part.startswith(_SAME_AGENT) for part in draft.span.split("/")[1:])
    depth = above - isinstance(draft.event, HandoffRequested)
    return "  " * depth + describe_event(draft.event, draft.agent_id)


def progress_line(draft: Draft) -> str:
    """The same for a client that follows a run: short, and nothing in it can hide from its reader."""
    return visible(one_line(line_of(draft)))[:_PROGRESS]


def _is_shown(event: Event) -> bool:
    match event:
        case SessionCompleted(outcome=outcome):
            return outcome.exit not in (ROUTE, BROADCAST)
        case HandoffRequested(kind=kind):
            return kind == "chain"
        case LlmRequest(attempt=attempt):
            return attempt > 1
        case LlmResponse():
            return bool(missing_in(event))
        case _:
            return event.type in SHOWN


KINDS = {
    **{"llm.": "model", "tool.": "tool", "approval.": "wait", "question.": "wait", "advisor.": "advisor"},
    **{"router.": "transfer", "handoff.": "transfer", "team.": "team", "decision.": "team", "a2a.": "team"},
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
        said=describe_event(draft.event, draft.agent_id, content=True, width=_WIDTH),
    )


def _kind(type: str) -> str:
    if type.endswith((".failed", ".denied", ".abandoned")):
        return "fail"
    return next((kind for start, kind in KINDS.items() if type.startswith(start)), "session")


_WIDTH = 160
"""Characters of what a row says."""
_KINDS: Mapping[str, str] = {
    **{
        kind: kind
        for kind in ("plan", "step", "tool", "handoff", "decision", "approval", "task", "run", "snapshot")
    },
    **{"zombie": "task", "backlog": "task", "unblock": "task", "client": "tool", "router": "handoff"},
    **{"question": "approval", "a2a": "message", "work_session": "work session"},
}
"""By the first word of an event's name; others are left out."""
_LEFT_OUT = frozenset(
    """
    tool.finished handoff.accepted handoff.completed router.selected run.bound run.claimed plan.progress
    work_session.asked work_session.answered work_session.entrusted decision.voting_opened
    """.split()
)
"""What a run or a later event says too."""


class TimelineEntry(Value, omit_defaults=False):
    at: str
    kind: str
    agent_id: str
    """Who did it."""
    text: str
    type: str
    """The name of the event."""
    run_id: str
    """Or the name of the record."""
    seq: int


def work_timeline(work_session: str, entries: Iterable[Entry]) -> list[TimelineEntry]:
    """Ordered by time, and where that is the same by the journal's own order."""
    shown = (timeline_entry(entry) for entry in entries if entry.draft.work_session_id == work_session)
    return sorted((each for each in shown if each), key=lambda each: (each.at, each.seq))


def timeline_entry(entry: Entry) -> TimelineEntry | None:
    """None for what people need not see."""
    draft, type = entry.draft, entry.event.type
    kind = _KINDS.get(type.partition(".")[0])
    if kind is None or type in _LEFT_OUT:
        return None
    line = describe_event(draft.event, draft.agent_id, width=_WIDTH)
    return TimelineEntry(draft.ts, kind, draft.agent_id, line, type, entry.stream, entry.seq)
