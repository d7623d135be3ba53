"""The conversation between agents that a session takes part in."""

from __future__ import annotations

from folkmoot.domain.value import Value

HOPS = "folkmoot/hops"
"""What they are called in a message to another program: so those who ask each other in a circle come to an end."""


class Thread(Value):
    conversation: str = ""
    """Its id; empty as long as nobody wrote."""
    origin: str = ""
    """The agent that first passed the matter on."""
    hops: int = 0
    """How often it was passed on."""
    main: bool = False
    """Whether the session is a main agent's: the root of a run, or whoever one of them wrote to."""
