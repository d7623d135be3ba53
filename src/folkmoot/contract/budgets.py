"""C6, its second half: whoever asks a model has reserved the most it can cost, within every budget around it.

What an answer cost more than was reserved is the estimate's error: it is allowed, and the next request finds that
much less. The wall time is not checked here: only the process that ran knows how long it was really there.
"""

from __future__ import annotations

from folkmoot.contract.folds import Guarantee
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import LlmFailed, LlmRequest, LlmResponse, RunStarted, SessionStarted
from folkmoot.domain.spans import without_cycle
from folkmoot.orchestration.ledger import Ledger


class Budgets:
    guarantee: Guarantee = "C6"
    takes: tuple[type[Event], ...] = (RunStarted, SessionStarted, LlmRequest, LlmResponse, LlmFailed)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ledger = Ledger(graph.settings.limits)
        self._asking: set[str] = set()

    def take(self, draft: Draft) -> str:
        span = draft.span
        match draft.event:
            case RunStarted(agent=file):
                self._ledger.open(span, self._graph.settings.budget, "the run")
                self._open(span, file)
            case SessionStarted(agent=file) as event:
                self._open(without_cycle(span), file)
                self._ledger.fold(span, event)
                return self._ledger.overdrawn(span, of=("descendants",))
            case LlmRequest() as event:
                self._asking.add(span)
                self._ledger.fold(span, event)
                return self._ledger.overdrawn(span, of=("requests", "tokens", "usd"))
            case LlmResponse() | LlmFailed() as event if span in self._asking:
                self._asking.discard(span)
                self._ledger.fold(span, event)
        return ""

    def _open(self, span: str, file: str) -> None:
        if agent := self._graph.agents.get(file):
            self._ledger.open(span, agent.budget, repr(agent.id))
