"""What can happen while a run waits for a person."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.event import Event
from folkmoot.domain.message import Risk

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


class ApprovalApproved(Event):
    """The call may be made, once."""

    type = "approval.approved"
    id: str
    by: str = ""


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
    """Nobody was there to decide, and the project says that such a call is not made."""

    type = "approval.expired"
    id: str
    reason: str = ""
