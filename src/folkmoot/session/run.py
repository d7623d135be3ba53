"""Perform a session's steps and record what happened, until it ends.

Nothing is done before its intent is durable: `settle` stands before every model request and every tool call that is
not declared pure. Only orchestration may start a session.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, assert_never

import msgspec
from msgspec.structs import replace

from folkmoot.domain.budget import Allowance
from folkmoot.domain.duration import written
from folkmoot.domain.entry import Event
from folkmoot.domain.events import (
    BudgetExceeded,
    SessionCompleted,
    SessionFailed,
    ToolFailed,
    ToolFinished,
)
from folkmoot.domain.evidence import Evidence
from folkmoot.domain.gate import Allow
from folkmoot.domain.message import Answer, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.part import Part
from folkmoot.domain.report import Outcome
from folkmoot.domain.sources import joined
from folkmoot.domain.text import estimated_tokens, storable
from folkmoot.errors import ModelFailed, OperationFailed, WrongUse
from folkmoot.ports import Clock, Hear, Models, Site
from folkmoot.session import record
from folkmoot.session.calls import Around, Released, item_id, needs_a_word, verdict
from folkmoot.session.decide import decide, fits
from folkmoot.session.exits import Refusal
from folkmoot.session.record import sources_of
from folkmoot.session.state import Brief, State, evolve, folded
from folkmoot.session.steps import Ask, Call, Consult, Exceed, Finish, Parked, Refuse


class JournalPort(Protocol):
    """The journal of the run."""

    @property
    def lease(self) -> float:
        """Seconds for which a process owns a run without a renewal."""

    def settle(self) -> Awaitable[None]:
        """Return when everything noted so far is durable."""

    def confirm(self) -> Awaitable[None]:
        """Return when the run is certainly still owned here; the last thing before a call that is not pure."""

    def write_soon(self) -> None:
        """Have what was noted written, without waiting: before any wait that no `settle` stands before."""

    def together(self, works: Iterable[Awaitable[None]]) -> Awaitable[object]:
        """Do all of them at once; returns when each has come to its end."""


class BudgetPort(Protocol):
    turnstile: asyncio.Semaphore
    """Around each request to a model."""

    def allowance(self, span: str) -> Allowance:
        """What a session at this place may spend now."""


class InboxPort(Protocol):
    def answered(self, id: str) -> Awaitable[None]:
        """Return when this item is decided; raises `Parked` when nothing else is left to do."""

    def working(self) -> AbstractContextManager[object]:
        """Around whatever does not wait for a person: as long as it lasts, the run does not park."""

    def begin(self) -> None:
        """Stands before the intent of everything new; raises `Parked` when the run goes on in another process."""


class ToolsPort(Protocol):
    @property
    def evidence(self) -> Evidence:
        """Every result of the run so far: a claim may cite no other."""

    def extra(self) -> tuple[ToolSpec, ...]:
        """Tools that come and go, asked for before each request."""

    def around(self) -> Around:
        """What the gate must know of the rest of the run."""

    def call(self, call: ToolCall, site: Site) -> Awaitable[ToolResult]: ...

    def keep(self, content: bytes) -> str:
        """The id of the artifact that holds it from here on."""

    def content(self, part: Part) -> Awaitable[bytes]:
        """What a part of a message holds. Raises `ModelFailed` if nobody has it any more."""


class SessionPorts(msgspec.Struct, frozen=True, kw_only=True):
    """The ports one session uses, scoped to its span: journal, budget, inbox and tools; and models and time."""

    note: Callable[[Event], Event]
    """Record an event of the session, durable after the next `settle`; gives it back as it is recorded."""
    journal: JournalPort
    budget: BudgetPort
    inbox: InboxPort
    tools: ToolsPort
    models: Models
    clock: Clock
    hear: Callable[[Ask], Hear] | None = None
    """Who is told the pieces of one attempt; absent: nobody listens."""


class Session:
    """The state changes only in `happen`, one event at a time, in the order of the journal."""

    def __init__(self, brief: Brief, past: Sequence[Event], ports: SessionPorts) -> None:
        self._ports = ports
        self._journal, self._inbox = ports.journal, ports.inbox
        self._tools, self._clock = ports.tools, ports.clock
        self._state = folded(brief, past)
        self._rested = False

    @property
    def state(self) -> State:
        return self._state

    @property
    def _allowance(self) -> Allowance:
        return self._ports.budget.allowance(self._state.brief.span)

    def happen(self, event: Event) -> None:
        """Record and fold as one step that nothing can come between: live order is replay order."""
        self._state = evolve(self._state, self._ports.note(event))

    async def run(self) -> Outcome:
        while True:
            tools = self._tools
            match decide(self._state, self._allowance, tools.extra(), tools.evidence, tools.around()):
                case Finish(outcome):
                    if not self._state.outcome:
                        self.happen((SessionFailed if outcome.failed else SessionCompleted)(outcome))
                    return outcome
                case Ask() as ask:
                    self._inbox.begin()
                    with self._inbox.working():
                        await self._ask_or_rest(ask)
                case Call() as step:
                    await self._call_all(step)
                case Refuse(refusals):
                    self._refuse(refusals)
                case Exceed(limit):
                    self.happen(BudgetExceeded(limit))
                case Consult() as step:
                    self._consult(step)
                case unknown:
                    assert_never(unknown)

    async def _ask_or_rest(self, ask: Ask) -> None:
        """After a pause the decision is taken anew, because others may have spent meanwhile."""
        if ask.delay and not self._rested:
            self._journal.write_soon()
            await self._clock.sleep(ask.delay)
            self._rested = True
        else:
            self._rested = False
            await self._ask(ask)

    async def _ask(self, ask: Ask) -> None:
        if not self._state.asking:
            self.happen(ask.event)
        await self._journal.settle()
        began = self._clock.monotonic()
        try:
            answer = await self._answer(ask)
        except ModelFailed as error:
            self.happen(record.unanswered(ask, error, self._since(began)))
        except Exception as error:
            broken = ModelFailed(f"{type(error).__name__}: {error}", retryable=False)
            self.happen(record.unanswered(ask, broken, self._since(began)))
        else:
            self.happen(record.answered(ask, answer, self._since(began)))

    async def _answer(self, ask: Ask) -> Answer:
        ports = self._ports
        model = ports.models.choose(ask.choice)
        limit = self._limit(self._state.brief.agent.tuning.llm_timeout)
        messages = self._state.messages
        contents = {
            part.artifact: await self._tools.content(part) for said in messages for part in said.parts
        }
        request = record.request(self._state, ask, contents)
        hear = ports.hear(ask) if ports.hear else None
        try:
            async with ports.budget.turnstile:
                return await self._clock.within(limit, model.answer(request, hear))
        except ModelFailed as error:
            raise record.with_its_parts(error, messages) from None
        except TimeoutError:
            within = f": within {written(round(limit, 3))}" if limit < math.inf else ""
            raise ModelFailed(
                f"the model did not answer in time{within}", retryable=True, kind="timeout"
            ) from None

    async def _call_all(self, step: Call) -> None:
        """Those that wait for someone hold up none of the others."""
        self._inbox.begin()
        calls = step.calls
        waiting = {position for position, _, _ in calls if needs_a_word(self._state, position)}
        await self._let_through([one for one in calls if one[0] not in waiting], step.reasons)
        works = [(self._call_when_released if one[0] in waiting else self._call)(*one) for one in calls]
        if len(works) == 1:
            await works[0]
        else:
            await self._journal.together(works)

    async def _let_through(
        self, calls: Sequence[tuple[int, ToolCall, ToolSpec]], reasons: Mapping[int, Allow]
    ) -> None:
        for position, call, spec in calls:
            if position not in self._state.started:
                why = reasons.get(position, Allow("", ""))
                self.happen(record.let_through(self._state, self._site(position), call, spec, why))
        if all(spec.effect == "pure" for _, _, spec in calls):
            # A repetition does no harm, so nobody waits for the record of it.
            self._journal.write_soon()
        else:
            with self._inbox.working():
                await self._journal.settle()

    async def _call_when_released(self, position: int, call: ToolCall, spec: ToolSpec) -> None:
        while (said := verdict(self._state, position, call)) is None:
            await self._inbox.answered(item_id(self._state, position))
        match said:
            case Released():
                self._inbox.begin()
                await self._let_through([(position, call, spec)], {})
                await self._call(position, call, spec)
            case Refusal():
                self._refuse(((position, call, said),))
            case ToolResult():
                self.happen(self._outcome(self._site(position), call, said))

    async def _call(self, position: int, call: ToolCall, spec: ToolSpec) -> None:
        site = self._site(position)
        limit = self._limit(0.0 if spec.patient else self._state.brief.agent.tuning.tool_timeout)
        began = self._clock.monotonic()
        try:
            with nullcontext() if spec.patient else self._inbox.working():
                if spec.effect != "pure":
                    await self._journal.confirm()
                result = await self._clock.within(limit, self._tools.call(call, site))
        except TimeoutError:
            result = ToolResult(text="timeout", failed=True)
        except (Parked, OperationFailed):
            raise
        except WrongUse as error:
            result = ToolResult(text=str(error), failed=True)
        except Exception as error:
            result = ToolResult(text=f"{type(error).__name__}: {error}", failed=True)
        read = joined(sources_of(self._state, site.turn, call), result.sources)
        self.happen(replace(self._outcome(site, call, result), latency_ms=self._since(began), sources=read))

    def _outcome(self, site: Site, call: ToolCall, result: ToolResult) -> ToolFinished | ToolFailed:
        if result.failed:
            failed = record.failed(site, call, result.text, code=result.code)
            as_it_is = result.plain or result.recorded
            return replace(failed, text=storable(result.text)) if as_it_is else failed
        text, artifact = storable(result.text), ""
        limit = self._state.brief.agent.tuning.tool_response_max_bytes
        if len(text) > limit // 4 and len(whole := text.encode()) > limit:
            artifact = self._tools.keep(whole)
            text = record.cut(whole, limit, artifact)
        if not result.recorded:
            text += storable(result.footer) + record.evidence_line(self._state, site)
        if not fits(self._state, tokens := estimated_tokens(text)):
            return record.failed(site, call, "context window budget exceeded", overflow=True)
        seen = result.parts if fits(self._state, tokens + sum(part.tokens for part in result.parts)) else ()
        finished = record.finished(self._state, site, call, text, artifact)
        return replace(finished, parts=seen, records=result.records)

    def _refuse(self, refusals: tuple[tuple[int, ToolCall, Refusal], ...]) -> None:
        for position, call, refusal in refusals:
            code, limit = refusal.code, refusal.reason if refusal.code == "budget" else ""
            more = {"broke_schema": refusal.schema, "code": code, "limit": limit}
            self.happen(record.failed(self._site(position), call, refusal.reason, **more))

    def _consult(self, step: Consult) -> None:
        for position, call, ask in step.approvals:
            self.happen(record.approval_requested(self._state, position, call, ask))
        for position, call in step.doubts:
            self.happen(record.in_doubt(self._state, position, call, self._journal.lease))

    def _site(self, position: int) -> Site:
        brief = self._state.brief
        return Site(
            run=brief.run, session=brief.session, span=brief.span, turn=self._state.turn, call=position
        )

    def _limit(self, own: float) -> float:
        """Seconds until a timeout: its own, or what the budgets around leave."""
        left = self._allowance.seconds.left
        return min(own or left, left)

    def _since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)
