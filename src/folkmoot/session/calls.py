"""The calls of one answer, sorted by what each needs next, and what a person's word means for one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from folkmoot.domain.budget import Room
from folkmoot.domain.gate import Allow, Ask, Refuse, Spent, Standing
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRevoked,
    ToolSettled,
)
from folkmoot.domain.message import Grounds, ToolCall, ToolResult, ToolSpec, fingerprint
from folkmoot.domain.sources import named_paths
from folkmoot.domain.value import Value
from folkmoot.session.exits import Refusal
from folkmoot.session.gate import gated, judge
from folkmoot.session.state import State


class Sorted(msgspec.Struct):
    """Each call by its position, in one of these."""

    refusals: list[tuple[int, ToolCall, Refusal]] = []
    unasked: list[tuple[int, ToolCall, Ask]] = []
    """Need a person's word, and nobody was asked yet."""
    doubts: list[tuple[int, ToolCall]] = []
    """May have happened or not, and nobody was asked yet."""
    calls: list[tuple[int, ToolCall, ToolSpec]] = []
    reasons: dict[int, Allow] = {}
    """Why a call is made, by position."""
    leaving: list[tuple[int, ToolCall]] = []
    files: frozenset[str] = frozenset()
    """What these calls will change, where that is limited."""


class Around(Value):
    """What a session's calls depend on beside what happened to itself."""

    granted: Mapping[str, str] = {}
    """Calls that somebody allowed for the whole run, by hash."""
    pace: Room = Room()
    """How many more calls its agent may make now."""
    spent: Spent = Spent()
    """By the step of a plan that the run carries out."""
    has_task: bool = False
    """Whether the run is about a task."""


NOTHING = Around()


class Released(Value):
    """The call may be made."""

    decision: str
    """Why; recorded with the call."""
    grounds: Grounds


def sort_calls(state: State, around: Around = NOTHING) -> Sorted:
    """Every call that was not begun is judged by the gate; it is judged once, unless it was refused."""
    own = state.brief.toolset
    offered = {spec.name: spec for spec in (() if state.last else own.tools)}
    hidden = {spec.name: spec for spec in (() if state.last else own.hidden)}
    exits = [spec.name for spec in own.leaving(state.last)]
    found = Sorted()
    for position, call in _open(state):
        if too_many := _beyond_limit(state, position):
            found.refusals.append((position, call, too_many))
        elif call.tool in exits:
            found.leaving.append((position, call))
        elif spec := offered.get(call.tool) or hidden.get(call.tool):
            _sort(state, found, around, (position, call, spec))
        else:
            names = ", ".join([*offered, *exits])
            reason = f"there is no tool {call.tool!r} in this turn; offered are {names}"
            found.refusals.append((position, call, Refusal(reason=reason, code="not_offered")))
    return found


def needs_a_word(state: State, position: int) -> bool:
    """Whether this call is made only after somebody said so."""
    return position in state.in_doubt or (position in state.requested and position not in state.started)


def verdict(state: State, position: int, call: ToolCall) -> Released | Refusal | ToolResult | None:
    """What was said about a call: make it, refuse it, take this for its result; None while nothing was said."""
    match state.said.get(position):
        case ApprovalApproved(id=id, by=by):
            if call.tool in state.gated:
                return _refusal(gated(call))
            if fingerprint(call) != state.requested[position].hash:
                return _denied("the word was given for another call")
            return Released(f"approved: {id}" + (f" by {by}" if by else ""), "approved")
        case ApprovalDenied(reason=reason) | ApprovalRevoked(reason=reason):
            return _denied(reason or "no reason given")
        case ApprovalExpired(reason=reason):
            return Refusal(reason=reason, code="approval_expired")
        case ToolSettled(decision="retry", by=by):
            return Released("made again, as a person said" + (f": {by}" if by else ""), "retried")
        case ToolSettled(decision=decision, text=text):
            failed = decision == "fail"
            return ToolResult(
                text=text or ("it failed, as a person said" if failed else "done"), failed=failed
            )
        case None:
            return None


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
    return Refusal(f"too many tool calls in one turn; the limit is {limit}", code="too_many_calls")


def _sort(state: State, found: Sorted, around: Around, wanted: tuple[int, ToolCall, ToolSpec]) -> None:
    position, call, spec = wanted
    if position in state.started:
        if spec.effect == "once" and position not in state.in_doubt:
            found.doubts.append((position, call))
        else:
            found.calls.append(wanted)
    elif position in state.requested:
        found.calls.append(wanted)
    else:
        match judge(state.brief.policy, _standing(state, found, around), call, spec):
            case Refuse() as refused:
                found.refusals.append((position, call, _refusal(refused)))
                return
            case Ask() as ask:
                found.unasked.append((position, call, ask))
            case Allow() as allowed:
                found.calls.append(wanted)
                found.reasons[position] = allowed
    if spec.access == "write" and state.brief.policy.step.budget.files_changed is not None:
        found.files |= named_paths(call.arguments)


def _standing(state: State, found: Sorted, around: Around) -> Standing:
    """Calls of the same answer that come first use up what is left first."""
    pace = around.pace
    if pace.limit:
        pace = Room(pace.left - len(found.reasons) - len(found.unasked), pace.limit)
    spent = around.spent
    if found.files:
        spent = replace(spent, files=spent.files | found.files)
    has_task = around.has_task or bool(state.task)
    plan = state.submitted.policy(state.calls)
    return Standing(state.gated, state.taint, around.granted, pace, spent=spent, has_task=has_task, plan=plan)


def _refusal(refused: Refuse) -> Refusal:
    return Refusal(reason=refused.reason, code=refused.code)


def _denied(reason: str) -> Refusal:
    return Refusal(reason=f"approval_denied: {reason}", code="approval_denied")
