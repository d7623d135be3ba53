"""C5: after a stop is acknowledged, no new model or tool call starts."""

from __future__ import annotations

from folkmoot.contract.fault import Guarantee
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import CancelRequested, LlmRequest, ToolStarted


class Stop:
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
