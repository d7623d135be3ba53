"""What an agent is asked, where in the run, and what it shares with everyone in the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.budget import Budget
from folkmoot.domain.entry import Cause
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.events import RunBound, SessionStarted
from folkmoot.domain.message import Message
from folkmoot.domain.naming import draw
from folkmoot.domain.part import Part
from folkmoot.domain.report import Outcome
from folkmoot.domain.secrets import NO_SECRETS, Secrets
from folkmoot.domain.sources import Source, Sources, joined
from folkmoot.domain.spans import child_span
from folkmoot.domain.team_events import Thread
from folkmoot.domain.trace import Passing, passing
from folkmoot.domain.value import Value
from folkmoot.errors import ModelFailed
from folkmoot.orchestration.history import EvidenceLedger, FollowUpSessions, ReadSources, find_legacy_sources
from folkmoot.orchestration.inbox import Inbox
from folkmoot.orchestration.kit import FACING, InheritedLimits, SessionToolset, ToolsetFactory
from folkmoot.orchestration.ledger import BudgetLedger, StepAccount
from folkmoot.orchestration.log import Fold, Place, RunLog
from folkmoot.orchestration.other_runs import ResultCache, Traffic
from folkmoot.ports import Clock, Hear, Models, Tools
from folkmoot.session.run import Session
from folkmoot.session.state import Brief, State


def wrap_request(original: str, blocks: Sequence[Block], *, seed: str, span: str, fence: bool = False) -> str:
    """The request alone if nothing was added to it, unless `fence`; otherwise a block for it and for each addition.

    Without a request it is the next message of a conversation that began with one: the blocks alone.
    """
    if not blocks and not (fence and original):
        return original
    every = (Block("original_user_request", original), *blocks) if original else (*blocks,)
    said = "\n".join(block.text for block in every)
    return "\n".join(_fence_block(block, _draw_nonce(said, seed, span, n)) for n, block in enumerate(every))


def _fence_block(block: Block, nonce: str) -> str:
    mark = f"{block.tag}__{nonce}"
    said_by = f' agent="{block.agent}"' if block.agent else ""
    stamp = f' runtime="{block.runtime}"' if block.runtime else ""
    return f"<{mark}{said_by}{stamp}>\n{block.text}\n</{mark}>"


def _draw_nonce(said: str, seed: str, span: str, number: int) -> str:
    """Drawn again while it occurs in what is said: nobody can close a block from inside."""
    again = 0
    while (nonce := draw(seed, span, "nonce", number, again)) in said:
        again += 1
    return nonce


SpanTokenListener = Callable[[str, str], None]
"""Told the span and each piece of text a model gives there."""


class TokenListeners(msgspec.Struct, frozen=True):
    """Who listens to a run."""

    everything: SpanTokenListener
    report: Callable[[], Hear] | None = None
    """Called whenever a model begins to say what is the report of the run; what it gives is told the pieces."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What all agents of one run share; `run.AgentRun` starts them."""

    id: str
    seed: str
    graph: Graph
    kits: ToolsetFactory
    models: Models
    tools: Tools
    clock: Clock
    log: RunLog
    keep: Callable[[bytes], str]
    artifact: Callable[[str], Awaitable[bytes]]
    ledger: BudgetLedger
    cache: ResultCache
    traffic: Traffic
    inbox: Inbox
    ear: TokenListeners | None = None
    label: str = ""
    """Of the place where it runs; empty where there is only one."""
    chats: FollowUpSessions = msgspec.field(default_factory=FollowUpSessions)
    evidence: EvidenceLedger = msgspec.field(default_factory=EvidenceLedger)
    readings: ReadSources = msgspec.field(default_factory=ReadSources)
    secrets: Secrets = NO_SECRETS
    step: StepAccount = msgspec.field(default_factory=StepAccount)
    """Of a plan, if the run carries one out."""
    under_way: dict[str, Session] = {}
    """The sessions that run now, by their ids: those that wait for a child can be asked by it."""
    contents: dict[str, bytes] = {}
    """What was read of the artifacts that its requests carry."""
    leads: dict[str, Callable[[], State]] = {}
    """Where the conversations of leads stand, by the sessions of their teams: members may need their word."""

    @property
    def folds(self) -> tuple[Fold, ...]:
        """What it knows from its own events."""
        return (self.ledger, self.evidence, self.chats, self.readings)

    def open_budget(self, span: str, budget: Budget, owner: str) -> None:
        """Let a budget hold from here on down, in a resumed run with the time that it had left."""
        self.ledger.open(span, budget, owner, self.log.began(span) if budget.wall else "")

    @property
    def errand(self) -> Errand:
        """Why it was started."""
        return self.log.drafts.started.errand

    @property
    def behavior(self) -> int:
        """The version of prompts, turns and error texts that it was started with."""
        return self.log.drafts.started.behavior

    @property
    def trace(self) -> Passing | None:
        """What those that work for it are told of its trace."""
        why, sinks = self.errand, self.graph.settings.sinks.values()
        return passing(self.id, why.traceparent, why.tracestate, sinks)

    async def content(self, part: Part) -> bytes:
        """Read once for all agents of the run."""
        if part.artifact not in self.contents:
            try:
                self.contents[part.artifact] = await self.artifact(part.artifact)
            except KeyError:
                gone = f"the content of {part} is not in the journal any more"
                raise ModelFailed(gone, retryable=False) from None
        return self.contents[part.artifact]

    def bind(self) -> None:
        """Have the run go on only here: it begins to use a working folder."""
        if self.label:
            self.log.once(Place.of(self.log.drafts[0]), RunBound(label=self.label))

    def kit(self, inv: Invocation) -> SessionToolset:
        return self.offering(inv, self.kits.of(inv.agent, inv.reach, inv.cause))

    def parts_kit(self, inv: Invocation) -> SessionToolset:
        """What the parts of its work share, for an agent that works by a plan."""
        return self.offering(inv, self.kits.of(inv.agent, inv.reach))

    def offering(self, inv: Invocation, kit: SessionToolset) -> SessionToolset:
        """With what the caller brought along, for whoever speaks with the caller."""
        tools = self.errand.tools if inv.facing else ()
        return kit.beside(tools) if tools else kit

    async def start(self, inv: Invocation) -> Outcome:
        """Run an agent with everything its file declares."""
        raise NotImplementedError

    async def converse(self, inv: Invocation, brief: Brief) -> Outcome:
        """Hold an agent's own session, begun or taken up again."""
        raise NotImplementedError


class Invocation(Value):
    """One agent, asked once."""

    agent: Agent
    span: str
    session: str
    original: str
    """The user's own text: it stays the same along a chain."""
    blocks: tuple[Block, ...] = ()
    """What others added to it."""
    parts: tuple[Part, ...] = ()
    """What the user attached to it: whoever reads the user's own text sees this too, and nobody else does."""
    parent: str = ""
    cause: Cause = ""
    title: str = ""
    before: tuple[Message, ...] = ()
    """The conversation that goes on, when a finished session is asked again."""
    turns_before: int = 0
    reach: InheritedLimits = InheritedLimits()
    """Whom it may not call and which tools it may not have, because of those above it."""
    thread: Thread = Thread()
    """The conversation between agents that it takes part in."""
    facing: bool = False
    """Whether it speaks with the caller of the run, and may use what that brought along."""
    last: bool = False
    """Whether its report, or that of whom it hands off to, is the report of the run."""
    routed: bool = False
    """Whether a router passed the request on: it stands in its block, also when the router added nothing."""

    @property
    def place(self) -> Place:
        return Place(self.span, self.session, self.agent.id, self.thread.conversation)

    @property
    def work_dir(self) -> str:
        """What its file says lies within what those above it say."""
        return "/".join(filter(None, (self.reach.work_dir, self.agent.work_dir)))

    def taint(self, run: Run) -> Sources:
        """What it begins with, beside what its user and its caller said themselves; once it began, as recorded."""
        if run.behavior == 1:
            return self._first_source()
        for event in run.log.of(self.span):
            if isinstance(event, SessionStarted):
                return event.sources
        remote = self.agent.remote
        says = (Source(f"what the remote agent {self.agent.id} says"),) if remote and remote.untrusted else ()
        return joined(self.reach.taint, *(block.sources for block in self.blocks), says)

    def _first_source(self) -> Sources:
        """In a run of 0.1.0."""
        if self.reach.taint:
            return self.reach.taint
        for block in self.blocks:
            if block.agent and block.tag != "result":
                return (Source(f"what {block.agent} said"),)
        return (Source("what was said to it before"),) if self.before else ()

    def prompt(self, run: Run) -> str:
        fence = self.routed and run.behavior > 1
        return wrap_request(self.original, self.blocks, seed=run.seed, span=self.span, fence=fence)

    def child(self, run: Run, agent: Agent, cause: Cause, span: str = "") -> Invocation:
        """The same request for another agent, one step further down."""
        span = span or child_span(self.span, cause, agent.id)
        return Invocation(
            agent=agent,
            span=span,
            session=self._session_below(run, agent, cause, span),
            original=self.original,
            blocks=self.blocks,
            parts=self.parts,
            parent=self.session,
            cause=cause,
            title=f"{cause} from {self.agent.id}",
            reach=replace(self.reach.below(self.agent), taint=self._passed_on(run, cause, span)),
            thread=replace(self.thread, main=self.thread.main and cause == "lead"),
            facing=self.facing and cause in FACING,
            last=self.last and (cause == "handoff" or (cause == "route" and not self.agent.handoff)),
            routed=cause == "route" or (self.routed and cause in ("member", "lead")),
        )

    def asked(self, original: str, title: str | None = None) -> Invocation:
        """With a request of its own, instead of its caller's."""
        title = self.title if title is None else title
        return replace(self, original=original, blocks=(), parts=(), title=title)

    def with_blocks(self, *blocks: Block) -> Invocation:
        """With what others add to the request."""
        return replace(self, blocks=(*self.blocks, *blocks))

    def _heard_before(self, run: Run, span: str) -> Sources:
        """What earlier parts of its work have read, before one at this span began."""
        if run.behavior > 1:
            return run.readings.within(self.span, outside=span)
        return find_legacy_sources(run.log.drafts, self.span, span, run.kit(self).outside(run.graph))

    def _passed_on(self, run: Run, cause: Cause, span: str) -> Sources:
        """What its model had read when it asked for a child; whoever comes after it is told of all that it did."""
        session = run.under_way.get(self.session)
        if run.behavior > 1:
            own = session.state.sources if session else ()
            done = self._heard_before(run, span) if cause in ("route", "handoff") else ()
            return joined(self.taint(run), own, done)
        heard = session.state.taint if session else ()
        through = (Source(f"{heard[0].text}, through {self.agent.id}"),) if heard else ()
        return self._first_source() or through

    def part(self, run: Run, cause: Cause, path: str) -> Invocation:
        """A session of the same agent, for a part of its own work."""
        span = child_span(self.span, path)
        heard = self._heard_before(run, span)
        taint = joined(self.taint(run), heard) if run.behavior > 1 else self._first_source() or heard
        return replace(
            self,
            span=span,
            session=self._session_below(run, self.agent, cause, span),
            parent=self.session,
            cause=cause,
            title=f"{cause} of {self.agent.id}",
            last=False,
            reach=replace(self.reach, taint=taint),
        )

    def _session_below(self, run: Run, agent: Agent, cause: Cause, span: str) -> str:
        return f"{self.session}:{cause}_{agent.id}_{draw(run.seed, span, 'session', length=8)}"
