"""What a session knows, folded from its events. Folding the journal again rebuilds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeVar

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Event
from folkmoot.domain.events import (
    BudgetExceeded,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.gate import Policy
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    GateChanged,
    ToolSettled,
)
from folkmoot.domain.message import Message, ToolCall
from folkmoot.domain.naming import GROUPS
from folkmoot.domain.older_entries import bare_failure
from folkmoot.domain.part import Part
from folkmoot.domain.report import Broadcast, Outcome, Report
from folkmoot.domain.sources import Source, Sources, joined
from folkmoot.domain.spans import call_span
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.trace import Passing
from folkmoot.domain.value import Value
from folkmoot.session.exits import NOT_SENT, SENT, Refusal, Toolset, judge_said, judge_text
from folkmoot.session.gate import Submitted, submitted, working_on

T = TypeVar("T")


class Brief(Value):
    """What a session is given and never changes."""

    agent: Agent
    toolset: Toolset
    run: str
    session: str
    span: str
    seed: str
    max_turns: int
    before: tuple[Message, ...] = ()
    """The conversation that this session goes on with, if it was one before."""
    turns_before: int = 0
    """The turns which that conversation took; they are counted on from there, up to `max_turns`."""
    closing: bool = False
    """Only the exits are offered, in every turn."""
    part: str = ""
    """Which part of the agent's work this is, if it works by a plan."""
    plan: str = ""
    """The plan that this session carries out, under contract."""
    hops: int = 0
    """How often the matter was passed on from agent to agent before."""
    trace: Passing | None = None
    """What models are told of the trace that the run is."""
    work_dir: str = ""
    """Where its tools work, relative to the project."""
    policy: Policy = Policy()
    """What the gate goes by."""
    aloud: bool = False
    """Its report is that of the run, and the run's client follows what is said."""

    def offering_exits_only(self) -> Brief:
        """The same brief with the exits of its last turn alone, in all turns that are left to correct a report."""
        exits = self.toolset.leaving(final=True)
        own = replace(self.toolset, tools=(), hidden=(), exits=exits, offered=exits)
        return replace(self, toolset=own, closing=True)


Said = ApprovalApproved | ApprovalDenied | ApprovalRevoked | ApprovalExpired | ToolSettled
"""What somebody decided about a call."""


class State(Value):
    brief: Brief
    messages: tuple[Message, ...] = ()
    turn: int = 0
    """The turn under way; 0 before the first."""
    asking: LlmRequest | None = None
    """Asked and neither answered nor failed."""
    failures: tuple[LlmFailed, ...] = ()
    """Attempts of this turn that gave no answer."""
    calls: tuple[ToolCall, ...] = ()
    """What the last answer wants done; empty again when every call has its result."""
    started: frozenset[int] = frozenset()
    """Calls that were let through, by position."""
    in_doubt: dict[int, str] = {}
    """Calls that may have happened or not, by position, with their names in the inbox."""
    requested: dict[int, ApprovalRequested] = {}
    """Calls that need a person's word and asked for it, by position."""
    said: dict[int, Said] = {}
    """What a person said about a call, by position."""
    results: dict[int, str] = {}
    """What the model will read for each call, by position: parallel results cannot swap."""
    shown: dict[int, tuple[Part, ...]] = {}
    """The images that the model will see beside them."""
    context: int = 0
    """Tokens of the conversation, as the provider counted them last."""
    added: int = 0
    """An upper guess of the tokens added since."""
    overflow: bool = False
    """A result did not fit; the next turn is the last."""
    last: bool = False
    """The last answer was given to a final request; no other follows."""
    report: Report | None = None
    """Plain text, adopted as the report."""
    broadcast: Broadcast | None = None
    """Plain text, adopted as a broadcast to the team."""
    broke_schema: bool = False
    exceeded: str = ""
    """The limit that stopped this session."""
    overspent: str = ""
    """The limit that a call of it would have broken."""
    gated: frozenset[str] = frozenset()
    """Tools that somebody took from this session."""
    heard: Sources = ()
    """What came into the session that nobody vouches for, or that must not get out."""
    taint: Sources = ()
    """The same as of the last answer: what its model had read when it asked for calls."""
    task: str = ""
    """What its agent works on, where it may not work without one."""
    submitted: Submitted = Submitted()
    """A plan that its agent wants approved."""
    outcome: Outcome | None = None

    @property
    def sources(self) -> Sources:
        """What its model had read at its last answer, with what the session began with."""
        return joined(self.brief.policy.taint, self.taint)


def folded(brief: Brief, events: Iterable[Event]) -> State:
    """What a session knows after these events."""
    return reduce(evolve, events, State(brief))


def evolve(state: State, event: Event) -> State:
    fold = _FOLDS.get(type(event))
    return fold(state, event) if fold else state


def _opened(state: State, event: SessionStarted) -> State:
    brief = state.brief
    system = (Message(role="system", text=brief.agent.prompt),) if brief.agent.prompt else ()
    opening = (*(brief.before or system), Message(role="user", text=event.request, parts=event.parts))
    added = brief.toolset.schema_tokens + sum(map(_size, opening))
    return replace(state, messages=opening, added=added, turn=brief.turns_before)


def _answered(state: State, event: LlmResponse) -> State:
    assert state.asking is not None, "an answer follows a request"
    usage, message = event.usage, event.message
    messages = (*state.messages, message)
    judged: Report | Broadcast | Refusal | None = None
    added, broke = 0, False
    if not message.calls:
        reports, agent = state.brief.toolset.reports, state.brief.agent
        judged = judge_text(agent, message.text) if reports else judge_said(message.text)
        if isinstance(judged, Refusal):
            messages = (*messages, Message(role="user", text=judged.reason))
            added, broke = estimated_tokens(judged.reason), judged.schema
    counted = usage.tokens_in + usage.tokens_out
    return replace(
        state,
        messages=messages,
        asking=None,
        failures=(),
        calls=message.calls,
        started=frozenset(),
        in_doubt={},
        requested={},
        said={},
        results={},
        shown={},
        context=counted or state.context + state.added + estimated_tokens(message.text),
        added=added,
        last=state.asking.final,
        report=judged if isinstance(judged, Report) else None,
        broadcast=judged if isinstance(judged, Broadcast) else None,
        broke_schema=broke,
        taint=state.heard,
    )


def _decided(
    state: State, event: ApprovalApproved | ApprovalDenied | ApprovalRevoked | ApprovalExpired
) -> State:
    position = next(at for at, asked in state.requested.items() if asked.id == event.id)
    return replace(state, said={**state.said, position: event})


def _doubted(state: State, event: ToolInDoubt) -> State:
    """Also of a call that was made again and cut off again: what was said about it before is used up."""
    place = call_span(state.brief.span, event.turn, event.call)
    doubts = {**state.in_doubt, event.call: event.id or f"{state.brief.run}/{place}"}
    return replace(state, in_doubt=doubts, said=_without(state.said, event.call))


def _settled(state: State, event: ToolSettled) -> State:
    state = replace(state, said={**state.said, event.call: event})
    if event.decision != "retry":
        return state
    started, doubts = state.started - {event.call}, _without(state.in_doubt, event.call)
    return replace(state, started=started, in_doubt=doubts)


def _without(by_position: dict[int, T], position: int) -> dict[int, T]:
    return {at: each for at, each in by_position.items() if at != position}


def _result(state: State, event: ToolFinished | ToolFailed) -> State:
    results = {**state.results, event.call: event.text}
    added = state.added + estimated_tokens(event.text)
    if isinstance(event, ToolFinished) and event.parts:
        added += sum(part.tokens for part in event.parts)
        state = replace(state, shown={**state.shown, event.call: event.parts})
    overflow = state.overflow or (isinstance(event, ToolFailed) and event.overflow)
    broke = state.broke_schema or (isinstance(event, ToolFailed) and event.broke_schema)
    heard = joined(state.heard, event.sources) if event.sources else state.heard
    if state.brief.policy.recorded_first:
        heard = heard or _first_source(state, event)
    state = replace(state, results=results, added=added, overflow=overflow, broke_schema=broke, heard=heard)
    if isinstance(event, ToolFailed) and event.code == "budget":
        state = replace(state, overspent=event.limit or bare_failure(event.text))
    if state.brief.policy.needs_task and isinstance(event, ToolFinished):
        state = replace(state, task=working_on(state.task, state.brief.agent.id, event))
    if isinstance(event, ToolFinished) and event.tool in GROUPS["plans"]:
        state = replace(state, submitted=submitted(state.submitted, event, state.calls[event.call - 1]))
    return state if len(results) < len(state.calls) else _all_answered(state, results)


def _first_source(state: State, event: ToolFinished | ToolFailed) -> Sources:
    """Of a run of 0.1.0."""
    if event.tool not in state.brief.policy.untrusted or event.call not in state.started:
        return ()
    return (Source(f"what {event.tool} gave in turn {event.turn}"),)


def _ended(state: State, event: SessionCompleted | SessionFailed) -> State:
    """After a broadcast the conversation may go on, so that every call of its turn needs a result."""
    outcome = event.outcome
    if (said := outcome.broadcast) and state.calls:
        left = {n: SENT if n == said.call else NOT_SENT for n in range(1, len(state.calls) + 1)}
        state = _all_answered(state, left | state.results)
    return replace(state, outcome=outcome)


def _all_answered(state: State, results: dict[int, str]) -> State:
    answers = tuple(
        Message(role="tool", text=results[position], answers=call.id, parts=state.shown.get(position, ()))
        for position, call in enumerate(state.calls, start=1)
    )
    return replace(state, messages=state.messages + answers, calls=(), results={}, shown={})


def _size(message: Message) -> int:
    text = message.text
    if message.calls:
        text += "".join(f"{call.tool}{call.arguments}" for call in message.calls)
    tokens = estimated_tokens(text)
    return tokens + sum(part.tokens for part in message.parts) if message.parts else tokens


_FOLDS: dict[type[Event], Callable[[State, Any], State]] = {
    SessionStarted: _opened,
    LlmRequest: lambda state, event: replace(state, asking=event, turn=event.turn),
    LlmFailed: lambda state, event: replace(state, asking=None, failures=(*state.failures, event)),
    LlmResponse: _answered,
    ToolStarted: lambda state, event: replace(state, started=state.started | {event.call}),
    ToolFinished: _result,
    ToolFailed: _result,
    ToolInDoubt: _doubted,
    ToolSettled: _settled,
    ApprovalRequested: lambda state, event: replace(state, requested={**state.requested, event.call: event}),
    ApprovalApproved: _decided,
    ApprovalDenied: _decided,
    ApprovalRevoked: _decided,
    ApprovalExpired: _decided,
    GateChanged: lambda state, event: replace(state, gated=(state.gated | {*event.gated}) - {*event.freed}),
    BudgetExceeded: lambda state, event: replace(state, exceeded=event.limit),
    SessionCompleted: _ended,
    SessionFailed: _ended,
}
"""What a session learns from each kind of event. From any other it learns nothing."""
