"""What can happen when agents ask each other: a finished one is kept and asked again, or a child asks its caller."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.event import Event


class SessionFrozen(Event):
    """A finished session is kept, so that the session that caused it may ask it again."""

    type = "session.frozen"
    session: str
    agent: str
    parent: str
    """The session that may ask."""
    turns_remaining: int


class SessionDestroyed(Event):
    """A kept session is let go: nobody can ask it any more."""

    type = "session.destroyed"
    session: str
    reason: str
    by: Literal["", "run", "user"] = ""
    """Who let it go; empty in old journals."""


class ClarificationAsked(Event):
    """A kept session is asked again; its conversation goes on in a span of its own."""

    type = "clarification.asked"
    clarification: str
    """The session in which it is answered."""
    child: str
    """The kept session."""
    question: str


class ClarificationAnswered(Event):
    """The answer goes back to whoever asked, or the reason why there is none."""

    type = "clarification.answered"
    clarification: str
    child: str
    success: bool
    turns_remaining: int


class ClarificationRefused(Event):
    """The question was not passed on; whoever asked reads why."""

    type = "clarification.refused"
    turn: int
    call: int
    child: str
    """As it was named, by its session or its agent."""
    code: str
    error: str


class ParentAsked(Event):
    """An agent that was called asks its caller, whose conversation goes on for it in a span of its own."""

    type = "parent.asked"
    session: str
    """In which it is answered."""
    parent: str
    """The caller's session, which waits."""
    question: str


class ParentAnswered(Event):
    """The answer goes back to whoever asked, or the reason why there is none."""

    type = "parent.answered"
    session: str
    parent: str
    success: bool


class ParentRefused(Event):
    """The question was not passed on; whoever asked reads why."""

    type = "parent.refused"
    turn: int
    call: int
    code: str
    error: str
