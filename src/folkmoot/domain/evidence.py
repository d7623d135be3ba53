"""Evidence: results of a run that claims of its reports are judged by, and what becomes of the claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.entry import Event
from folkmoot.domain.events import ToolFinished
from folkmoot.domain.report import Claim
from folkmoot.domain.value import Value


class Minted(Value):
    """One result, and the call that gave it."""

    id: str
    tool: str
    span: str
    turn: int
    call: int
    artifact: str = ""
    """The whole text, when the model read only a part of it."""


Evidence = Mapping[str, Minted]
"""Every result of one run, by its id: the ledger that claims are judged by."""


def minted(span: str, result: ToolFinished) -> Minted:
    return Minted(
        id=result.evidence,
        tool=result.tool,
        span=span,
        turn=result.turn,
        call=result.call,
        artifact=result.artifact,
    )


def unknown(claim: Claim, evidence: Evidence) -> tuple[str, ...]:
    """The ids that it cites and that no result of this run has."""
    return tuple(id for id in dict.fromkeys(claim.evidence) if id not in evidence)


def judged(claim: Claim, evidence: Evidence) -> Claim:
    """The claim with the status that it deserves, whatever status it was given by whoever made it."""
    cited = tuple(id for id in dict.fromkeys(claim.evidence) if id in evidence)
    if missing := unknown(claim, evidence):
        return demoted(
            replace(claim, evidence=cited), f"no result of this run has the id {', '.join(missing)}"
        )
    if claim.status == "verified" and not cited:
        return demoted(claim, "it was called verified without evidence")
    return replace(claim, evidence=cited, status="verified" if cited else "unverified")


def demoted(claim: Claim, reason: str) -> Claim:
    return replace(claim, status="unverified", reason=reason)


class ClaimRecorded(Event):
    """A report claims something."""

    type = "claim.recorded"
    claim: int
    """Its position in the report, from 1."""
    text: str
    status: Literal["verified", "unverified"]


class EvidenceAttached(Event):
    """Results of this run bear out a claim."""

    type = "evidence.attached"
    claim: int
    evidence: tuple[str, ...]


class ClaimDemoted(Event):
    """An error of whoever claimed it: the claim wanted to pass for more than it is, and stands as unverified."""

    type = "claim.demoted"
    claim: int
    reason: str
