"""C3: nothing is sent twice that must not be. No `once` call without a person's word, no `keyed` call under another
key, no model request whose answer is recorded, and no outcome without its intent."""

from __future__ import annotations

from folkmoot.contract.fault import Guarantee, Place
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ToolSettled


class Effects:
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
