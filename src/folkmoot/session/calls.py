"""The calls of one answer, sorted by what each needs next, and what a person's word means for one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from folkmoot.domain.canonical import fingerprint
from folkmoot.domain.draw import draw
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRevoked,
    ToolSettled,
)
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.value import Value
from folkmoot.session.exits import Refusal
from folkmoot.session.state import State


@dataclass(slots=True)
class Sorted:
    """Each call by its position, in one of these."""

    refusals: list[tuple[int, ToolCall, Refusal]] = field(default_factory=list)
    unasked: list[tuple[int, ToolCall, ToolSpec]] = field(default_factory=list)
    """Need a person's word, and nobody was asked yet."""
    doubts: list[tuple[int, ToolCall]] = field(default_factory=list)
    """May have happened or not, and nobody was asked yet."""
    calls: list[tuple[int, ToolCall, ToolSpec]] = field(default_factory=list)
    leaving: list[tuple[int, ToolCall]] = field(default_factory=list)


class Released(Value):
    """The call may be made."""

    decision: str
    """Why; recorded with the call."""


def sort_calls(state: State) -> Sorted:
    brief = state.brief
    offered = {spec.name: spec for spec in (() if state.last else brief.tools)}
    unlisted = {spec.name: spec for spec in (() if state.last else brief.unlisted)}
    exits = [spec.name for spec in brief.leaving(state.last)]
    found = Sorted()
    for position, call in _open(state):
        if too_many := _beyond_limit(state, position):
            found.refusals.append((position, call, too_many))
        elif call.tool in exits:
            found.leaving.append((position, call))
        elif spec := offered.get(call.tool) or unlisted.get(call.tool):
            _sort(state, found, position, call, spec)
        else:
            names = ", ".join([*offered, *exits])
            reason = f"there is no tool {call.tool!r} in this turn; offered are {names}"
            found.refusals.append((position, call, Refusal(reason=reason)))
    return found


def needs_a_word(state: State, position: int) -> bool:
    """Whether this call is made only after somebody said so."""
    return position in state.in_doubt or (position in state.requested and position not in state.started)


def verdict(state: State, position: int, call: ToolCall) -> Released | Refusal | ToolResult | None:
    """What was said about a call: make it, refuse it, take this for its result; None while nothing was said."""
    match state.said.get(position):
        case ApprovalApproved(id=id, by=by):
            if fingerprint(call) != state.requested[position].hash:
                return Refusal(reason="approval_denied: the word was given for another call")
            return Released(f"approved: {id}" + (f" by {by}" if by else ""))
        case ApprovalDenied(reason=reason) | ApprovalRevoked(reason=reason):
            return Refusal(reason=f"approval_denied: {reason or 'no reason given'}")
        case ApprovalExpired(reason=reason):
            return Refusal(reason=reason)
        case ToolSettled(decision="retry", by=by):
            return Released("made again, as a person said" + (f": {by}" if by else ""))
        case ToolSettled(decision=decision, text=text):
            failed = decision == "fail"
            return ToolResult(
                text=text or ("it failed, as a person said" if failed else "done"), failed=failed
            )
        case None:
            return None


def approval_id(state: State, position: int) -> str:
    return "ap_" + draw(state.brief.seed, state.brief.span, "approval", state.turn, position)


def doubt_id(state: State, position: int) -> str:
    return "doubt_" + draw(state.brief.seed, state.brief.span, "doubt", state.turn, position)


def item_id(state: State, position: int) -> str:
    """Under which name in the inbox this call waits."""
    return state.in_doubt.get(position) or state.requested[position].id


def _open(state: State) -> Iterator[tuple[int, ToolCall]]:
    for position, call in enumerate(state.calls, start=1):
        if position not in state.results:
            yield position, call


def _beyond_limit(state: State, position: int) -> Refusal | None:
    limit = state.brief.agent.tuning.max_tool_calls_per_turn
    if position <= limit:
        return None
    return Refusal(reason=f"too many tool calls in one turn; the limit is {limit}")


def _sort(state: State, found: Sorted, position: int, call: ToolCall, spec: ToolSpec) -> None:
    if position in state.started:
        if spec.effect == "once" and position not in state.in_doubt:
            found.doubts.append((position, call))
        else:
            found.calls.append((position, call, spec))
    elif spec.asks and call.malformed:
        found.refusals.append((position, call, Refusal(reason="the arguments are not a JSON object")))
    elif spec.asks and position not in state.requested:
        found.unasked.append((position, call, spec))
    else:
        found.calls.append((position, call, spec))
