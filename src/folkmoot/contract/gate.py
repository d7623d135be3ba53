"""C7: no tool call without a decision for exactly that call, and no call that no model asked for."""

from __future__ import annotations

from folkmoot.contract.fault import Guarantee, Place
from folkmoot.domain import older_entries
from folkmoot.domain.canonical import fingerprint
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import LlmResponse, ToolStarted
from folkmoot.domain.gate_events import GateChanged
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalRequested
from folkmoot.domain.message import ToolCall


class Gate:
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
