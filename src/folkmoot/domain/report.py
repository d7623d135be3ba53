"""What a finished piece of work leaves behind."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.value import Value

FINAL_REPORT = "agent__final_report"
ROUTE = "router__handoff-to"
BROADCAST = "team__broadcast"

StopReason = Literal[
    "OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR", "CANCELLED",
    "MAX_TURNS", "CONTEXT",
]  # fmt: skip


class Claim(Value, omit_defaults=False):
    """Something that a report says is so."""

    text: str
    evidence: tuple[str, ...] = ()
    """Ids of results of the same run."""
    status: Literal["verified", "unverified"] = "unverified"
    """Decided by the runtime: verified if there is evidence, and all of it exists in this run."""
    reason: str = ""
    """Why the claim is not what it was said to be."""


class Report(Value):
    """The final report of one session; a synthetic one when the model gave none."""

    format: Literal["text", "markdown", "json"] = "text"
    content: str = ""
    """The body as text; JSON reports are here as JSON text too."""
    content_json: Any = None
    claims: tuple[Claim, ...] = ()
    metadata: dict[str, Any] = {}


class Selection(Value):
    """What a router chose."""

    agent: str
    """The id of the destination."""
    message: str = ""


class Broadcast(Value):
    """What somebody said to its team."""

    message: str
    final: bool = False
    """The sender leaves the team with it."""
    outcome: Literal["", "success", "failure"] = ""
    """With `final`."""
    call: int = 0
    """Position of the call in the model's answer; 0 for plain text."""


class Outcome(Value):
    """How one session, or the chain behind it, ended."""

    agent: str
    """The id of the agent that really produced it."""
    span: str
    """Where it ended; a failure is named after this place."""
    exit: str = FINAL_REPORT
    """The exit through which the session left; orchestration gives it its meaning."""
    report: Report = Report()
    selection: Selection | None = None
    broadcast: Broadcast | None = None
    stop_reason: StopReason = "OBJECTIVE_ACHIEVED"
    error: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error)
