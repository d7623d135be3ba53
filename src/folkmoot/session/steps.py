"""What a session can do next, as values; and `Parked`, when it can do nothing before somebody answers."""

from __future__ import annotations

from folkmoot.domain import gate
from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import Outcome
from folkmoot.domain.value import Value
from folkmoot.session.exits import Refusal


class Ask(Value):
    """Ask a model: one attempt."""

    choice: ModelChoice
    turn: int
    attempt: int
    tools: tuple[ToolSpec, ...]
    max_output: int
    reserved_tokens: int
    reserved_usd: float
    final: bool
    delay: float = 0.0
    again: bool = False
    """It may have been sent before: the process ended before the answer came."""
    aloud: bool = False
    """Whatever the model says is the report of the run."""


class Call(Value):
    """Make these calls, by position, all at once; those that wait for someone as soon as they may."""

    calls: tuple[tuple[int, ToolCall, ToolSpec], ...]
    reasons: dict[int, gate.Allow] = {}
    """Why the gate lets a call through, by position; of those that somebody approved, their word says it."""


class Refuse(Value):
    """Tell the model why these calls are not made."""

    refusals: tuple[tuple[int, ToolCall, Refusal], ...]


class Consult(Value):
    """Put before someone, all at once: calls that need a word first, and calls that may have happened or not."""

    approvals: tuple[tuple[int, ToolCall, gate.Ask], ...] = ()
    doubts: tuple[tuple[int, ToolCall], ...] = ()


class Exceed(Value):
    """A budget does not allow the next request."""

    limit: str


class Finish(Value):
    outcome: Outcome


Step = Ask | Call | Refuse | Consult | Exceed | Finish


class Parked(Exception):  # because it is no error, its name has no Error in it
    """The session cannot go on before somebody answers; carries what it waits for."""

    def __init__(self, waiting: tuple[str, ...]) -> None:
        self.waiting = waiting
        super().__init__(", ".join(waiting))


async def nobody_answers(id: str) -> None:
    """For a session without an inbox around it."""
    raise Parked((id,))
