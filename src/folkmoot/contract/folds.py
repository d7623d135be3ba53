"""The guarantees that follow from the events of a run alone: each is a fold over them. Pure."""

from __future__ import annotations

from typing import Literal, Protocol

from folkmoot.domain import older_entries
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    CancelRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunPruned,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalRequested, GateChanged, ToolSettled
from folkmoot.domain.message import ToolCall, fingerprint
from folkmoot.domain.value import Value

Guarantee = Literal["C1", "C2", "C3", "C4", "C5", "C6", "C7"]

TITLES: dict[Guarantee, str] = {
    "C1": "durability",
    "C2": "order",
    "C3": "effects",
    "C4": "replay",
    "C5": "stop",
    "C6": "bounds",
    "C7": "gate",
}


class Fault(Value, omit_defaults=False):
    """One place at which a guarantee does not hold."""

    guarantee: Guarantee
    run_id: str
    run_seq: int
    seq: int
    id: str
    """The id of the entry; empty where there is none to name."""
    words: str


class GuaranteeFold(Protocol):
    """Checks one guarantee over the events of one run, in order."""

    guarantee: Guarantee
    takes: tuple[type[Event], ...]
    """The events that it looks at; the others are not shown to it."""

    def take(self, draft: Draft) -> str:
        """What is wrong with this event after all those before it; empty if nothing is."""


Place = tuple[str, int, int]
"""A tool call: its span, its turn, its position in the answer."""


class Effects:
    """C3: nothing is sent twice that must not be. No `once` call without a person's word, no `keyed` call under another
    key, no model request whose answer is recorded, and no outcome without its intent."""

    guarantee: Guarantee = "C3"
    takes: tuple[type[Event], ...] = (
        LlmRequest,
        LlmResponse,
        LlmFailed,
        ToolStarted,
        ToolFinished,
        ToolFailed,
        ToolInDoubt,
        ToolSettled,
    )

    def __init__(self) -> None:
        self._asking: dict[str, LlmRequest] = {}
        """By span: asked, and neither answered nor failed."""
        self._answered: dict[str, int] = {}
        """By span: the last turn whose answer is recorded."""
        self._started: dict[Place, tuple[ToolStarted, int]] = {}
        """With the claim under which it was."""
        self._keys: dict[str, Place] = {}
        self._ended: set[Place] = set()
        """Calls that have their result."""
        self._doubted: set[Place] = set()
        self._again: set[Place] = set()
        """Calls that a person wants made again."""
        self._settled: set[Place] = set()
        """Calls of which a person said what became of them."""

        self.note = ""
        """What is worth knowing about the last event, though it is no fault."""

    def take(self, draft: Draft) -> str:
        event, claim, self.note = draft.event, draft.epoch or 1, ""
        match event:
            case LlmRequest():
                return self._ask(draft.span, event)
            case LlmResponse() | LlmFailed():
                return self._answer(draft.span, event)
            case ToolStarted():
                return self._start((draft.span, event.turn, event.call), event, claim)
            case ToolFinished() | ToolFailed():
                return self._end((draft.span, event.turn, event.call), event, claim)
            case ToolInDoubt() | ToolSettled():
                return self._doubt((draft.span, event.turn, event.call), event)
            case _:
                return ""

    def _ask(self, span: str, asked: LlmRequest) -> str:
        waiting, self._asking[span] = self._asking.get(span), asked
        if asked.turn <= self._answered.get(span, 0):
            return f"the model was asked again in turn {asked.turn}, whose answer is recorded"
        if waiting:
            return f"the model was asked while the answer to turn {waiting.turn} was still awaited"
        return ""

    def _answer(self, span: str, came: LlmResponse | LlmFailed) -> str:
        asked = self._asking.pop(span, None)
        if isinstance(came, LlmResponse):
            self._answered[span] = came.turn
        if asked is None or (asked.turn, asked.attempt, asked.model) != (came.turn, came.attempt, came.model):
            return f"no request is recorded for what came in turn {came.turn}, attempt {came.attempt}"
        return ""

    def _start(self, place: Place, event: ToolStarted, claim: int) -> str:
        before, claimed = self._started.get(place, (None, claim))
        owner = self._keys.setdefault(event.key, place)
        self._started[place] = event, claim
        if owner != place:
            return f"{event.tool} was called under the key of another call: {event.key}"
        if before is None:
            return ""
        if place in self._ended:
            return f"{event.tool} was called again although its result is recorded"
        if "once" in (before.effect, event.effect) and place not in self._again:
            return f"{event.tool} is a `once` call and was started twice; no person said so"
        if "once" in (before.effect, event.effect) and claim != claimed:
            self.note = (
                f"{event.tool} is a `once` call, begun under claim {claimed} and, as a person said, under claim"
                f" {claim}: only its receiver knows whether it came twice"
            )
        self._again.discard(place)
        if before.key != event.key:
            return f"{event.tool} was called again under another key: {before.key}, then {event.key}"
        return ""

    def _end(self, place: Place, event: ToolFinished | ToolFailed, claim: int) -> str:
        """A call that was refused never started, and fails all the same."""
        if place in self._ended:
            return f"{event.tool} has a second result"
        self._ended.add(place)
        start, claimed = self._started.get(place, (None, claim))
        if start is None:
            return (
                f"{event.tool} has a result, and its start is not recorded"
                if isinstance(event, ToolFinished)
                else ""
            )
        if start.effect == "once" and claim != claimed and place not in self._settled:
            return (
                f"{event.tool} is a `once` call, begun under claim {claimed}; its result came under claim {claim},"
                " and no person said what became of it"
            )
        return ""

    def _doubt(self, place: Place, event: ToolInDoubt | ToolSettled) -> str:
        if isinstance(event, ToolInDoubt):
            self._doubted.add(place)
            return (
                "" if place in self._started else f"{event.tool} is in doubt, and its start is not recorded"
            )
        if place not in self._doubted:
            return "somebody settled a call that is not in doubt"
        self._doubted.discard(place)
        if event.decision == "retry":
            self._again.add(place)
        else:
            self._settled.add(place)
        return ""


class Stop:
    """C5: after a stop is acknowledged, no new model or tool call starts."""

    guarantee: Guarantee = "C5"
    takes: tuple[type[Event], ...] = (CancelRequested, LlmRequest, ToolStarted)

    def __init__(self) -> None:
        self._stopped = False

    def take(self, draft: Draft) -> str:
        event = draft.event
        if isinstance(event, CancelRequested):
            self._stopped = True
        elif self._stopped and isinstance(event, LlmRequest):
            return f"{draft.agent_id} asked a model after the stop was acknowledged"
        elif self._stopped and isinstance(event, ToolStarted):
            return f"{draft.agent_id} called {event.tool} after the stop was acknowledged"
        return ""


_SHOWN = 3


class Ends:
    """C6, its first half: a run has one end and nothing after it, and so has every session in it."""

    guarantee: Guarantee = "C6"
    takes: tuple[type[Event], ...] = (*RUN_ENDS, *SESSION_ENDS, SessionStarted, LlmRequest, ToolStarted)
    """While the run is under way; after its end, everything."""

    def __init__(self) -> None:
        self.end = ""
        """The type of the event that ended the run; nothing else of an ended run is remembered."""
        self._open: dict[str, str] = {}
        """The agents of sessions that are under way, by span."""
        self._over: set[str] = set()

    def take(self, draft: Draft) -> str:
        event = draft.event
        if isinstance(event, RUN_ENDS):
            return self._run_ends(event.type)
        if self.end:
            return f"a {event.type} stands after the run's end, {self.end}"
        match event:
            case SessionStarted():
                if draft.span in self._open or draft.span in self._over:
                    return f"the session at {draft.span} began twice"
                self._open[draft.span] = draft.agent_id
            case LlmRequest() | ToolStarted() if draft.span in self._over:
                return f"{draft.agent_id} goes on at {draft.span} after its session has ended"
            case _ if isinstance(event, SESSION_ENDS):
                return self._session_ends(draft.span)
        return ""

    def _run_ends(self, type: str) -> str:
        before, self.end = self.end, type
        if before and type != RunPruned.type:
            return f"the run ends a second time: {type} after {before}"
        unended = [f"{agent} ({span})" for span, agent in self._open.items()]
        self._open.clear()
        self._over.clear()
        more = " …" if len(unended) > _SHOWN else ""
        return f"sessions without an end: {', '.join(unended[:_SHOWN])}{more}" if unended else ""

    def _session_ends(self, span: str) -> str:
        if self._open.pop(span, None) is None:
            return f"the session at {span} ends, but is not under way"
        self._over.add(span)
        return ""


class GateFold:
    """C7: no tool call without a decision for exactly that call, and no call that no model asked for."""

    guarantee: Guarantee = "C7"
    takes: tuple[type[Event], ...] = (
        LlmResponse,
        ApprovalRequested,
        ApprovalApproved,
        GateChanged,
        ToolStarted,
    )

    def __init__(self) -> None:
        self._wanted: dict[str, LlmResponse] = {}
        """By span: the last answer, whose calls are to be made."""
        self._requested: dict[Place, ApprovalRequested] = {}
        self._approved: set[str] = set()
        self._granted: set[str] = set()
        """The hashes of calls that somebody allowed for the whole run."""
        self._gated: dict[str, frozenset[str]] = {}
        """By span."""

    def take(self, draft: Draft) -> str:
        match draft.event:
            case LlmResponse() as event:
                self._wanted[draft.span] = event
            case ApprovalRequested() as event:
                self._requested[draft.span, event.turn, event.call] = event
            case ApprovalApproved() as event:
                self._approve(event)
            case GateChanged() as event:
                before = self._gated.get(draft.span, frozenset())
                self._gated[draft.span] = (before | {*event.gated}) - {*event.freed}
            case ToolStarted() as event:
                return self._judge(draft.span, event)
        return ""

    def _approve(self, event: ApprovalApproved) -> None:
        self._approved.add(event.id)
        if event.scope == "run":
            asked = (each for each in self._requested.values() if each.id == event.id)
            self._granted |= {each.hash for each in asked}

    def _judge(self, span: str, event: ToolStarted) -> str:
        if not event.decision:
            return f"{event.tool} was called without a decision"
        if event.tool in self._gated.get(span, ()):
            return f"{event.tool} was called, and it is gated in this session"
        wanted = self._wanted.get(span)
        calls = wanted.message.calls if wanted and wanted.turn == event.turn else ()
        call = calls[event.call - 1] if 0 < event.call <= len(calls) else None
        if call is None or (call.tool, call.arguments) != (event.tool, event.arguments):
            return f"{event.tool} was called, and no recorded answer asks for this call"
        return self._judge_approval(self._requested.get((span, event.turn, event.call)), event, call)

    def _judge_approval(self, asked: ApprovalRequested | None, event: ToolStarted, call: ToolCall) -> str:
        if asked is None:
            grounds = event.grounds or older_entries.grounds(event.decision)
            if grounds == "granted":
                granted = fingerprint(call) in self._granted
                return "" if granted else f"{event.tool} was called as granted, and nobody granted this call"
            unasked = grounds == "approved"
            return f"{event.tool} was called as approved, and nobody was asked" if unasked else ""
        if asked.id not in self._approved:
            return f"{event.tool} was called, and {asked.id} is not approved"
        if asked.hash != fingerprint(call):
            return f"{event.tool} was called, and {asked.id} was given for another call"
        return ""
