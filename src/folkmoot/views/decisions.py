"""A decision as programs read it."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.decision import Decision, tally


def document(decision: Decision) -> dict[str, Any]:
    """All of it, and what follows from it."""
    shown: dict[str, Any] = msgspec.to_builtins(decision)
    return {
        **shown,
        "rule": str(decision.rule),
        "timestamp": decision.committed_at or decision.proposed_at,
        "until": decision.until,
        "tally": msgspec.to_builtins(tally(decision, decision.standing_votes)),
        "approval": _approval(decision),
    }


def _approval(decision: Decision) -> dict[str, Any] | None:
    """What the lead or a person has to say, in the form of every other approval; None while the votes may decide."""
    if decision.escalated_because is None:
        return None
    return {
        "id": decision.id,
        "subject": "decision",
        "risk": decision.risk,
        "preview": decision.topic,
        "requestedBy": decision.proposed_by,
        "approverPolicy": ["human"] if decision.risk == "high" else ["lead", "human"],
        "status": "approved" if decision.status == "committed" else "pending",
        "decidedBy": decision.committed_by,
        "reason": decision.rationale or decision.escalated_because,
        "at": decision.committed_at or decision.escalated_at,
    }
