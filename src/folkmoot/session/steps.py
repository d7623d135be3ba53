"""What a session can do next, as values: how it ends, too; and `Parked`, when it can do nothing before an answer."""

from __future__ import annotations

from folkmoot.domain import gate
from folkmoot.domain.agent import ModelChoice
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import FINAL_REPORT, Broadcast, Outcome, Report, Selection, StopReason
from folkmoot.domain.value import Value
from folkmoot.session.exits import Refusal
from folkmoot.session.state import State


class Ask(Value):
    """Ask a model: one attempt."""

    choice: ModelChoice
    event: LlmRequest
    """What is recorded before it is sent."""
    tools: tuple[ToolSpec, ...]
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


def no_report(state: State) -> Outcome:
    missing = "final report" if state.brief.toolset.reports else "broadcast"
    turns = state.brief.max_turns
    if state.overflow:
        return failure(state, "CONTEXT", f"the context is full and the model gave no {missing}")
    if state.broke_schema:
        text = "the model gave no report that fits its schema"
        return failure(state, "MAX_TURNS", text, reason="schema_violated")
    if state.turn < turns:
        text = f"the model used the last request of its budget without a {missing}"
        return failure(state, "BUDGET_EXCEEDED", text)
    text = f"the model gave no {missing} within {turns} {'turn' if turns == 1 else 'turns'}"
    return failure(state, "MAX_TURNS", text, reason="max_turns_exhausted")


def outcome(
    state: State,
    *,
    exit: str = FINAL_REPORT,
    report: Report = Report(),
    selection: Selection | None = None,
    broadcast: Broadcast | None = None,
) -> Outcome:
    return Outcome(state.brief.agent.id, state.brief.span, exit, report, selection, broadcast)


def failure(state: State, stop: StopReason, error: str, **metadata: object) -> Outcome:
    return failed_outcome(state.brief.agent.id, state.brief.span, stop, error, **metadata)


def failed_outcome(agent: str, span: str, stop: StopReason, error: str, **metadata: object) -> Outcome:
    """With the report that the runtime writes when the model wrote none: a session never ends without one."""
    report = Report(content=error, metadata={"reason": stop.lower(), **metadata})
    return Outcome(agent=agent, span=span, report=report, stop_reason=stop, error=error)
