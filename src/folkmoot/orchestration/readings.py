"""What the sessions of a run have read that nobody vouches for or that must not get out, which tools give it, and which
results a claim may cite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from folkmoot.domain.agent import Graph
from folkmoot.domain.call_events import CacheHit
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import SessionStarted, ToolFailed, ToolFinished
from folkmoot.domain.evidence import ClaimDemoted, ClaimRecorded, EvidenceAttached, Minted, minted
from folkmoot.domain.naming import MEMORY_READ, MESSAGES, wire_name
from folkmoot.domain.report import Report
from folkmoot.domain.sources import Source, Sources, joined
from folkmoot.orchestration.chats import ASK_CLARIFICATION
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL

ASKING_AGENTS = frozenset((CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_CLARIFICATION, *MESSAGES))


class Readings:
    """Everything that was read, with where; what an agent says is based on all that was read below its span."""

    takes: ClassVar[tuple[type[Event], ...]] = (SessionStarted, ToolFinished, ToolFailed, CacheHit)

    def __init__(self) -> None:
        self._read: list[tuple[str, Sources]] = []

    def fold(self, span: str, event: Event) -> None:
        if isinstance(event, SessionStarted | ToolFinished | ToolFailed | CacheHit) and event.sources:
            where = event.span if isinstance(event, CacheHit) else span
            self._read.append((f"{where}/", event.sources))

    def within(self, *spans: str, outside: str = "") -> Sources:
        """In these spans and below them, but not in nor below `outside`."""
        inside = tuple(f"{span}/" for span in spans)
        return joined(
            *(
                read
                for span, read in self._read
                if span.startswith(inside) and not (outside and span.startswith(f"{outside}/"))
            )
        )


class EvidenceLedger:
    """Folded from the run's events, so that a resumed run knows the same results."""

    takes: ClassVar[tuple[type[Event], ...]] = (ToolFinished,)

    def __init__(self) -> None:
        self.results: dict[str, Minted] = {}

    def fold(self, span: str, event: Event) -> None:
        if isinstance(event, ToolFinished):
            self.results[event.evidence] = minted(span, event)


def record_claims(log: RunLog, place: Place, report: Report) -> None:
    """Note what a finished session claimed."""
    for number, claim in enumerate(report.claims, start=1):
        log.once(place, ClaimRecorded(claim=number, text=claim.text, status=claim.status))
        if claim.status == "verified":
            log.once(place, EvidenceAttached(claim=number, evidence=claim.evidence))
        if claim.reason:
            log.once(place, ClaimDemoted(claim=number, reason=claim.reason))


def untrusted_tools(kit: Kit) -> frozenset[str]:
    """What the caller of the run brought along answers for itself."""
    return frozenset(spec.name for spec in kit.tools if spec.untrusted) | kit.brought


# What follows is for runs of 0.1.0, which recorded no sources: resumed and replayed, they decide as they did.

_WRITTEN_BY_OTHERS = frozenset(("task_status", "task_list", "task_pick_backlog", MEMORY_READ))
"""They show what other agents may have written."""


def outside(graph: Graph, kit: Kit) -> frozenset[str]:
    """Tools that reach another machine, a server that is no part of the project, another agent, the caller of the run,
    or what one noted in an earlier run."""
    servers = tuple(
        wire_name(f"{name}.") for name, source in graph.settings.tools.items() if source.kind == "mcp"
    )
    brought = (spec.name for spec in kit.tools if spec.access == "egress" or spec.name.startswith(servers))
    return frozenset(brought) | ASKING_AGENTS | _WRITTEN_BY_OTHERS | {*kit.agents} | kit.brought


def heard_before(drafts: Iterable[Draft], above: str, span: str, tools: frozenset[str]) -> Sources:
    """What one of these tools gave below a span before another began there."""
    inside = f"{above}/"
    for draft in drafts:
        if draft.span == span and isinstance(draft.event, SessionStarted):
            return ()
        if (
            draft.span.startswith(inside)
            and isinstance(draft.event, ToolFinished)
            and draft.event.tool in tools
        ):
            return (Source(f"what {draft.event.tool} gave in turn {draft.event.turn}"),)
    return ()
