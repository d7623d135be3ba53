"""What becomes of the claims in a report; noted when the session that made them has ended."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.event import Event


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
