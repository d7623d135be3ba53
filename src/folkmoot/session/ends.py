"""How a session ends: with what its model gave, or with a report that the runtime writes in its place."""

from __future__ import annotations

from folkmoot.domain.report import FINAL_REPORT, Broadcast, Outcome, Report, Selection, StopReason
from folkmoot.session.state import State


def no_report(state: State) -> Outcome:
    missing = "final report" if state.brief.reports else "broadcast"
    if state.overflow:
        return failure(state, "CONTEXT", f"the context is full and the model gave no {missing}")
    if state.broke_schema:
        text = "the model gave no report that fits its schema"
        return failure(state, "MAX_TURNS", text, reason="schema_violated")
    if state.turn < state.brief.max_turns:
        return failure(
            state, "BUDGET_EXCEEDED", f"the model used the last request of its budget without a {missing}"
        )
    turns = state.brief.max_turns
    text = f"the model gave no {missing} within {turns} {'turn' if turns == 1 else 'turns'}"
    return failure(state, "MAX_TURNS", text, reason="max_turns_exhausted")


def outcome(
    state: State,
    *,
    exit: str = FINAL_REPORT,
    report: Report | None = None,
    selection: Selection | None = None,
    broadcast: Broadcast | None = None,
) -> Outcome:
    return Outcome(
        agent=state.brief.agent.id,
        span=state.brief.span,
        exit=exit,
        report=report or Report(),
        selection=selection,
        broadcast=broadcast,
    )


def failure(state: State, stop: StopReason, error: str, *, reason: str = "") -> Outcome:
    """The report that the runtime writes when the model wrote none: a session never ends without one."""
    return Outcome(
        agent=state.brief.agent.id,
        span=state.brief.span,
        report=Report(content=error, metadata={"reason": reason or stop.lower()}),
        stop_reason=stop,
        error=error,
    )
