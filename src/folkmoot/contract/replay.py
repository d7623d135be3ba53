"""The guarantees that need the project a run is pinned to.

C4: what a session knows is what its events say. Each one is folded again, and its recorded end must be the one that
follows from the fold. Which tools a project had on the machine where it ran is not in the journal; so only what does
not depend on them is compared: whether a session succeeded, and with what.

C6, its second half: whoever asks a model has reserved the most it can cost, within every budget around it. What an
answer cost more than was reserved is the estimate's error: it is allowed, and the next request finds that much less.
The wall time is not checked here: only the process that ran knows how long it was really there.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec.structs import astuple, replace

from folkmoot.contract.folds import Events, Guarantee
from folkmoot.domain.agent import Agent, Graph, Output
from folkmoot.domain.budget import Allowance
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import PARTS, Draft
from folkmoot.domain.events import (
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunStarted,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
)
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.spans import without_cycle
from folkmoot.domain.team_events import TeamStarted
from folkmoot.orchestration.history import EvidenceLedger
from folkmoot.orchestration.kit import SessionToolset, ToolsetFactory
from folkmoot.orchestration.ledger import BudgetLedger
from folkmoot.ports import Site
from folkmoot.session.decide import decide
from folkmoot.session.state import Brief, State, evolve
from folkmoot.session.steps import Finish

_IN_TEXT = ("planner", "step", "sense", "reflect", "ask")
"""Here an agent answers in plain text, whatever form its reports have."""


class NoTools:
    """The tools of a project that is only looked at."""

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        raise AssertionError("nothing is called when a journal is checked")


class Replay:
    guarantee: Guarantee = "C4"
    takes: Events = frozenset(EVENTS.values())

    def __init__(self, run: str, graph: Graph, kits: ToolsetFactory) -> None:
        self._run = run
        self._graph = graph
        self._kits = kits
        self._seed = ""
        self._states: dict[str, State] = {}
        self._teams: dict[str, Agent] = {}
        """By the span of the team."""
        self._in_parts: set[str] = set()
        """Sessions whose work was done in sessions below them."""
        self._evidence = EvidenceLedger()
        self._digest = sha256()
        self.followed = 0
        """Sessions whose recorded end follows from the fold."""

    @property
    def state_hash(self) -> str:
        """Of everything that the sessions of this run knew at their ends, in order."""
        return self._digest.hexdigest()

    def take(self, draft: Draft) -> str:
        event, span = draft.event, draft.span
        self._evidence.fold(span, event)
        try:
            match event:
                case RunStarted(seed=seed):
                    self._seed = seed
                case TeamStarted():
                    self._teams[without_cycle(span)] = self._agent(draft.agent_id)
                case SessionStarted():
                    if event.cause in PARTS:
                        self._in_parts.add(event.parent)
                    self._states[span] = evolve(State(self._brief(draft, event)), event)
                case SessionCompleted() | SessionFailed() if span in self._states:
                    return self._compare(self._states.pop(span), event)
                case SessionCancelled():
                    self._states.pop(span, None)
                case _ if span in self._states:
                    self._states[span] = evolve(self._states[span], event)
        # A fold must be able to take whatever a damaged or forged journal holds, and say so.
        except Exception as error:
            self._states.pop(span, None)
            return f"its session cannot be folded: {type(error).__name__}: {error}"
        return ""

    def _compare(self, state: State, event: SessionCompleted | SessionFailed) -> str:
        known = msgspec.to_builtins(astuple(state)[1:], str_keys=True, order="deterministic")
        self._digest.update(msgspec.json.encode(known))
        if state.turn == 0 and state.brief.session in self._in_parts:
            return ""  # its parts were compared, each for itself
        step = decide(state, Allowance(), evidence=self._evidence.results)
        if not isinstance(step, Finish):
            # It may fail for what the journal does not know; but only through an exit it completes.
            through = event.outcome.exit in {spec.name for spec in state.brief.toolset.exits}
            lacking = through and isinstance(event, SessionCompleted)
            return "it completed, and nothing that is recorded before completes it" if lacking else ""
        self.followed += 1
        if step.outcome.failed != event.outcome.failed:
            said, follows = ("failed", "succeeded") if event.outcome.failed else ("succeeded", "failed")
            return f"it {said}, and by what is recorded before it {follows}"
        if not step.outcome.failed and step.outcome != event.outcome:
            return "its recorded outcome is not the one that follows from its conversation"
        return ""

    def _brief(self, draft: Draft, event: SessionStarted) -> Brief:
        agent = self._graph.agents.get(event.agent) or self._made_up(draft, event)
        if event.cause in _IN_TEXT:
            agent = replace(agent, output=Output())
        kit = self._kit(draft.span, agent, event)
        return Brief(
            agent=agent,
            toolset=kit,
            run=self._run,
            session=draft.session_id,
            span=draft.span,
            seed=self._seed,
            max_turns=agent.tuning.max_turns,
        )

    def _kit(self, span: str, agent: Agent, event: SessionStarted) -> SessionToolset:
        if event.cause in ("member", "lead"):
            return self._kits.in_team(self._teams[span.rpartition(f"/{event.cause}")[0]], agent, event.cause)
        if event.cause in ("planner", "sense", "reflect"):
            return SessionToolset()
        return self._kits.of(agent, cause=event.cause)

    def _agent(self, id: str) -> Agent:
        return next(agent for agent in self._graph.agents.values() if agent.id == id and agent.team)

    def _made_up(self, draft: Draft, event: SessionStarted) -> Agent:
        """An agent that no file declares: of how it ends, only its name and a model matter."""
        models = next(agent.models for agent in self._graph.agents.values())
        return Agent(id=draft.agent_id, file=event.agent, prompt="", models=models)


class Budgets:
    guarantee: Guarantee = "C6"
    takes: Events = frozenset((RunStarted, SessionStarted, LlmRequest, LlmResponse, LlmFailed))

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ledger = BudgetLedger(graph.settings.limits)
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
