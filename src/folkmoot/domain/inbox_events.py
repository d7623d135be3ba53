"""What can happen while a run waits for a person."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.entry import Event
from folkmoot.domain.gate import HUMAN, Approver
from folkmoot.domain.message import Risk
from folkmoot.domain.part import Part
from folkmoot.domain.sources import Sources

Scope = Literal["once", "run"]
"""How far an approval goes; never further than equal calls."""
Settlement = Literal["done", "retry", "fail"]


class ToolSettled(Event):
    """A person said what became of a call in doubt: it was done, it shall be made again, or it failed."""

    type = "tool.settled"
    turn: int
    call: int
    decision: Settlement
    text: str = ""
    """The result, or why it failed, as the model will read it."""
    by: str = ""


class QuestionAsked(Event):
    """An agent asks a person, and waits."""

    type = "question.asked"
    id: str
    question: str
    turn: int
    call: int


class QuestionAnswered(Event):
    """Somebody answered; the agent reads it as the result of its call."""

    type = "question.answered"
    id: str
    text: str
    by: str = ""
    ticket: str = ""
    """Of the request that brought it, if its client may send that again; see `Errand.ticket`."""


class ClientCalled(Event):
    """An agent calls a tool that the caller of the run brought along, and waits for its result."""

    type = "client.called"
    id: str
    turn: int
    call: int
    tool: str
    arguments: dict[str, Any]
    expires: float | None = None
    """Seconds after which the run does not wait for it any more, and is cancelled."""


class ClientAnswered(Event):
    """The caller said what its tool gave; the agent reads it as the result of its call."""

    type = "client.answered"
    id: str
    text: str
    failed: bool = False
    by: str = ""
    ticket: str = ""
    """Of the request that brought it, if its client may send that again; see `Errand.ticket`."""
    parts: tuple[Part, ...] = ()
    """The images in it, for models that see."""


class ApprovalRequested(Event):
    """A call waits for a person's word before it is made."""

    type = "approval.requested"
    id: str
    turn: int
    call: int
    tool: str
    arguments: dict[str, Any]
    hash: str
    """Of the exact call; the word holds for this call alone."""
    risk: Risk
    preview: str = ""
    """A title for people; what they decide on is the whole call."""
    why: str = ""
    """Why the gate asks; empty: because the tool itself wants it."""
    approvers: tuple[Approver, ...] = HUMAN
    """Who is asked, in this order."""
    expires: float | None = None
    """Seconds after which nobody can approve it any more."""
    sources: Sources = ()
    """What the session has read, if it is asked for that."""
    foreign: tuple[str, ...] = ()
    """Arguments whose values stand in what tools gave, and not in what the session was asked."""


class ApprovalApproved(Event):
    """The call may be made, once."""

    type = "approval.approved"
    id: str
    by: str = ""
    scope: Scope = "once"
    """`run`: equal calls in this run need no further word."""


class ApprovalDeclined(Event):
    """An agent that was asked first did not approve; whoever comes next is asked."""

    type = "approval.declined"
    id: str
    by: str
    reason: str = ""


class ApprovalDenied(Event):
    """The call is not made; the model reads why."""

    type = "approval.denied"
    id: str
    by: str = ""
    reason: str = ""


class ApprovalRevoked(Event):
    """The word that was given is taken back before the call was made; the model reads why."""

    type = "approval.revoked"
    id: str
    by: str = ""
    reason: str = ""


class ApprovalExpired(Event):
    """Nobody decided: nobody was there, and the project takes that for a no; or the time for it is over."""

    type = "approval.expired"
    id: str
    reason: str = ""
    unattended: bool = False
    """Nobody was there; not recorded in old journals."""


class GateChanged(Event):
    """Somebody took tools from a session, or gave them back."""

    type = "gate.changed"
    session: str
    gated: tuple[str, ...] = ()
    """Tools that are refused from here on, by their names on the wire."""
    freed: tuple[str, ...] = ()
    """Tools that are no longer refused."""
    by: str = ""
    reason: str = ""
