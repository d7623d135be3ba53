"""The conversation between agents that a session takes part in."""

from __future__ import annotations

from folkmoot.domain.value import Value


class Thread(Value):
    conversation: str = ""
    """Its id; empty as long as nobody wrote."""
    origin: str = ""
    """The agent that first passed the matter on."""
    hops: int = 0
    """How often it was passed on."""
    main: bool = False
    """Whether the session is a main agent's: the root of a run, or whoever one of them wrote to."""
