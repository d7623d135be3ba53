"""C6, its first half: a run has one end and nothing after it, and so has every session in it."""

from __future__ import annotations

from folkmoot.contract.fault import Guarantee
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import RUN_ENDS, SESSION_ENDS, LlmRequest, RunPruned, SessionStarted, ToolStarted

_SHOWN = 3


class Ends:
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
