"""From what a session knows to what it does next. No clock, no network, no randomness but the run's seed."""

from __future__ import annotations

from folkmoot.domain.budget import Allowance
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import ROUTE, Report, Selection
from folkmoot.session.ask import ask, ask_again
from folkmoot.session.calls import sort_calls
from folkmoot.session.ends import failure, no_report, outcome
from folkmoot.session.exits import Refusal, judge_report, judge_route
from folkmoot.session.state import State
from folkmoot.session.steps import Call, Consult, Finish, Refuse, Step


def decide(state: State, allowance: Allowance) -> Step:
    if state.outcome:
        return Finish(state.outcome)
    if state.calls:
        return _handle_calls(state)
    if state.report:
        return Finish(outcome(state, report=state.report))
    if state.exceeded:
        return Finish(failure(state, "BUDGET_EXCEEDED", f"budget exceeded: {state.exceeded}"))
    if state.last:
        return Finish(no_report(state))
    if state.asking:
        return ask_again(state, allowance)
    return ask(state, allowance)


def _handle_calls(state: State) -> Step:
    """Ordinary calls first, all at once; an exit takes effect when they are done."""
    found = sort_calls(state)
    if found.refusals:
        return Refuse(tuple(found.refusals))
    if found.unasked or found.doubts:
        return Consult(tuple(found.unasked), tuple(found.doubts))
    if found.calls:
        return Call(tuple(found.calls))
    return _leave(state, found.leaving)


def _leave(state: State, leaving: list[tuple[int, ToolCall]]) -> Step:
    """A selection wins over a report in the same turn; of several reports the first good one counts."""
    exits = {spec.name: spec for spec in state.brief.exits}
    refused = []
    for position, call in sorted(leaving, key=lambda exit: exit[1].tool != ROUTE):
        judged = _judge(state, call, exits)
        if isinstance(judged, Selection):
            return Finish(outcome(state, exit=ROUTE, selection=judged))
        if isinstance(judged, Report):
            return Finish(outcome(state, report=judged))
        refused.append((position, call, judged))
    return Refuse(tuple(refused))


def _judge(state: State, call: ToolCall, exits: dict[str, ToolSpec]) -> Selection | Report | Refusal:
    if call.tool == ROUTE:
        return judge_route(exits[ROUTE], call)
    return judge_report(state.brief.agent, call)
