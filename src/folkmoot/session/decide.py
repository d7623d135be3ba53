"""From what a session knows to what it does next. No clock, no network, no randomness but the run's seed."""

from __future__ import annotations

from folkmoot.domain.budget import Allowance
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE, Broadcast, Report, Selection
from folkmoot.session.ask import ask, ask_again
from folkmoot.session.broadcast import judge_broadcast
from folkmoot.session.ends import failure, no_report, outcome
from folkmoot.session.exits import Refusal, judge_report, judge_route
from folkmoot.session.state import State
from folkmoot.session.steps import Call, Doubt, Finish, Refuse, Step

_RANKS = (ROUTE, FINAL_REPORT, BROADCAST)


def decide(state: State, allowance: Allowance, extra: tuple[ToolSpec, ...] = ()) -> Step:
    """`extra` are tools that come and go; they are offered beside those of the brief."""
    if state.outcome:
        return Finish(state.outcome)
    if state.calls:
        return _handle_calls(state)
    if state.said:
        return Finish(outcome(state, exit=BROADCAST, broadcast=state.said))
    if state.report:
        return Finish(outcome(state, report=state.report))
    if state.exceeded:
        return Finish(failure(state, "BUDGET_EXCEEDED", f"budget exceeded: {state.exceeded}"))
    if state.last:
        return Finish(no_report(state))
    if state.asking:
        return ask_again(state, allowance, extra)
    return ask(state, allowance, extra)


def _handle_calls(state: State) -> Step:
    """Ordinary calls first, all at once; an exit takes effect when they are done."""
    brief = state.brief
    offered = {spec.name: spec for spec in (() if state.last else brief.tools)}
    unlisted = {spec.name: spec for spec in (() if state.last else brief.unlisted)}
    exits = {spec.name: spec for spec in brief.leaving(state.last)}
    limit = state.brief.agent.tuning.max_tool_calls_per_turn
    calls, refusals, doubts, leaving = [], [], [], []
    for position, call in enumerate(state.calls, start=1):
        if position in state.results:
            continue
        if position > limit:
            reason = f"too many tool calls in one turn; the limit is {limit}"
            refusals.append((position, call, Refusal(reason=reason)))
        elif call.tool in exits:
            leaving.append((position, call))
        elif spec := offered.get(call.tool) or unlisted.get(call.tool):
            if position in state.started and spec.effect == "once":
                doubts.append((position, call))
            else:
                calls.append((position, call, spec))
        else:
            refusals.append((position, call, Refusal(reason=_not_offered(call, offered, exits))))
    if refusals:
        return Refuse(tuple(refusals))
    if calls:
        return Call(tuple(calls))
    if doubts:
        return Doubt(tuple(doubts))
    return _leave(state, leaving, exits)


def _leave(state: State, leaving: list[tuple[int, ToolCall]], exits: dict[str, ToolSpec]) -> Step:
    """A selection wins over a report, a report over a broadcast; of several alike the first good one counts."""
    refused = []
    for position, call in sorted(leaving, key=lambda exit: _RANKS.index(exit[1].tool)):
        match _judge(state, position, call, exits):
            case Selection() as selection:
                return Finish(outcome(state, exit=ROUTE, selection=selection))
            case Report() as report:
                return Finish(outcome(state, report=report))
            case Broadcast() as said:
                return Finish(outcome(state, exit=BROADCAST, broadcast=said))
            case Refusal() as refusal:
                refused.append((position, call, refusal))
    return Refuse(tuple(refused))


def _judge(
    state: State, position: int, call: ToolCall, exits: dict[str, ToolSpec]
) -> Selection | Report | Broadcast | Refusal:
    if call.tool == ROUTE:
        return judge_route(exits[ROUTE], call)
    if call.tool == BROADCAST:
        return judge_broadcast(exits[BROADCAST], call, position)
    return judge_report(state.brief.agent, call)


def _not_offered(call: ToolCall, offered: dict[str, ToolSpec], exits: dict[str, ToolSpec]) -> str:
    names = ", ".join([*offered, *exits])
    return f"there is no tool {call.tool!r} in this turn; offered are {names}"
