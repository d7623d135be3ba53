"""What happened in a run, in order: one line each, indented by who caused whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import LlmRequest, LlmResponse, SessionCompleted
from folkmoot.domain.message import visible
from folkmoot.domain.report import BROADCAST, ROUTE
from folkmoot.domain.sentences import describe_event, missing_in
from folkmoot.domain.text import one_line

SHOWN = frozenset(
    (
        *(
            "session.started",
            "session.completed",
            "session.failed",
            "session.cancelled",
            "run.cancel_requested",
        ),
        *(
            "run.forked",
            "run.repinned",
            "llm.failed",
            "tool.started",
            "tool.failed",
            "tool.in_doubt",
            "tool.settled",
        ),
        *(
            "approval.requested",
            "approval.approved",
            "approval.denied",
            "approval.revoked",
            "approval.declined",
        ),
        *("approval.expired", "gate.changed", "client.called", "client.answered", "question.asked"),
        *("question.answered", "router.selected", "budget.exceeded", "system.error", "cache.hit"),
        *("result.summarized", "claim.demoted", "parent.refused", "clarification.refused", "team.started"),
        *("team.broadcast", "team.member_exited", "plan.rejected", "step.started", "decision.proposed"),
        *("decision.deliberated", "decision.voted", "decision.escalated", "decision.committed"),
    )
)
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
