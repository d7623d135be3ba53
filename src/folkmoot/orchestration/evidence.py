"""The evidence of a run: every tool result in it by its id, and what its reports claimed by them."""

from __future__ import annotations

from typing import ClassVar

from folkmoot.domain.event import Event
from folkmoot.domain.events import ToolFinished
from folkmoot.domain.evidence import Minted, minted
from folkmoot.domain.evidence_events import ClaimDemoted, ClaimRecorded, EvidenceAttached
from folkmoot.domain.report import Report
from folkmoot.orchestration.log import Place, RunLog


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
