"""Perform a session's steps and record what happened, until it ends.

Nothing is done before its intent is durable: `settle` stands before every model request and every tool call that is
not declared pure. Only orchestration may start a session.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import assert_never

import msgspec
from msgspec.structs import replace

from folkmoot.domain.budget import Allowance
from folkmoot.domain.duration import written
from folkmoot.domain.event import Event
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
from folkmoot.ports import Clock, Hear, Models, Site, Tools
from folkmoot.session import record
from folkmoot.session.ask import fits
from folkmoot.session.calls import Around, Released, item_id, needs_a_word, verdict
from folkmoot.session.decide import decide
from folkmoot.session.exits import Refusal
from folkmoot.session.record import sources_of
from folkmoot.session.state import Brief, State, evolve, folded
from folkmoot.session.steps import Ask, Call, Consult, Exceed, Finish, Parked, Refuse, nobody_answers


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one session touches, bound to its place in the run."""

    models: Models
    tools: Tools
    clock: Clock
    note: Callable[[Event], Event]
    """Put an event into the run's journal, durable after the next `settle`; gives it back as it is recorded."""
    settle: Callable[[], Awaitable[None]]
    confirm: Callable[[], Awaitable[None]]
    """Return when the run is certainly still owned here; the last thing before a call that is not pure."""
    lease: float
    """Seconds for which a process owns a run without a renewal."""
    write_soon: Callable[[], None]
    """Have what was noted written, without waiting: before any wait that no `settle` stands before."""
    together: Callable[[Iterable[Awaitable[None]]], Awaitable[object]]
    """Do all of them at once; returns when each has come to its end."""
    keep: Callable[[bytes], str]
    allowance: Callable[[], Allowance]
    turnstile: asyncio.Semaphore
    content: Callable[[Part], Awaitable[bytes]]
    """What a part of a message holds. Raises `ModelFailed` if nobody has it any more."""
    hear: Callable[[Ask], Hear] | None = None
    """Who is told the pieces of one attempt; absent: nobody listens."""
    extra: Callable[[], tuple[ToolSpec, ...]] = tuple
    """Tools that come and go, asked for before each request."""
    around: Callable[[], Around] = Around
    """What the gate must know of the rest of the run."""
    evidence: Evidence = {}
    """Every result of the run so far: a claim may cite no other."""
    answered: Callable[[str], Awaitable[None]] = nobody_answers
    """Return when this item of the inbox is decided; raises `Parked` when nothing else is left to do."""
    working: Callable[[], AbstractContextManager[object]] = nullcontext
    """Around whatever does not wait for a person: as long as it lasts, the run does not park."""
    begin: Callable[[], None] = lambda: None
    """Stands before the intent of everything new; raises `Parked` when the run is to go on in another process."""


class Session:
    """The state changes only in `happen`, one event at a time, in the order of the journal."""

    def __init__(self, brief: Brief, past: Sequence[Event], world: World) -> None:
        self._world = world
        self._state = folded(brief, past)
        self._rested = False

    @property
    def state(self) -> State:
        return self._state

    def happen(self, event: Event) -> None:
        """Record and fold as one step that nothing can come between: live order is replay order."""
        self._state = evolve(self._state, self._world.note(event))

    async def run(self) -> Outcome:
        while True:
            world = self._world
            match decide(self._state, world.allowance(), world.extra(), world.evidence, world.around()):
                case Finish(outcome):
                    if not self._state.outcome:
                        self.happen((SessionFailed if outcome.failed else SessionCompleted)(outcome))
                    return outcome
                case Ask() as ask:
                    world.begin()
                    with self._world.working():
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
            self._world.write_soon()
            await self._world.clock.sleep(ask.delay)
            self._rested = True
        else:
            self._rested = False
            await self._ask(ask)

    async def _ask(self, ask: Ask) -> None:
        world = self._world
        if not self._state.asking:
            self.happen(record.asked(ask))
        await world.settle()
        began = world.clock.monotonic()
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
        world = self._world
        model = world.models.choose(ask.choice)
        limit = self._limit(self._state.brief.agent.tuning.llm_timeout)
        messages = self._state.messages
        contents = {part.artifact: await world.content(part) for said in messages for part in said.parts}
        request = record.request(self._state, ask, contents)
        hear = world.hear(ask) if world.hear else None
        try:
            async with world.turnstile:
                return await world.clock.within(limit, model.answer(request, hear))
        except ModelFailed as error:
            raise record.with_its_parts(error, messages) from None
        except TimeoutError:
            within = f": within {written(round(limit, 3))}" if limit < math.inf else ""
            raise ModelFailed(
                f"the model did not answer in time{within}", retryable=True, kind="timeout"
            ) from None

    async def _call_all(self, step: Call) -> None:
        """Those that wait for someone hold up none of the others."""
        self._world.begin()
        calls = step.calls
        waiting = {position for position, _, _ in calls if needs_a_word(self._state, position)}
        await self._let_through([one for one in calls if one[0] not in waiting], step.reasons)
        works = [(self._call_when_released if one[0] in waiting else self._call)(*one) for one in calls]
        if len(works) == 1:
            await works[0]
        else:
            await self._world.together(works)

    async def _let_through(
        self, calls: Sequence[tuple[int, ToolCall, ToolSpec]], reasons: Mapping[int, Allow]
    ) -> None:
        for position, call, spec in calls:
            if position not in self._state.started:
                why = reasons.get(position, Allow("", ""))
                self.happen(record.let_through(self._state, self._site(position), call, spec, why))
        if all(spec.effect == "pure" for _, _, spec in calls):
            # A repetition does no harm, so nobody waits for the record of it.
            self._world.write_soon()
        else:
            with self._world.working():
                await self._world.settle()

    async def _call_when_released(self, position: int, call: ToolCall, spec: ToolSpec) -> None:
        while (said := verdict(self._state, position, call)) is None:
            await self._world.answered(item_id(self._state, position))
        match said:
            case Released():
                self._world.begin()
                await self._let_through([(position, call, spec)], {})
                await self._call(position, call, spec)
            case Refusal():
                self._refuse(((position, call, said),))
            case ToolResult():
                self.happen(self._outcome(self._site(position), call, said))

    async def _call(self, position: int, call: ToolCall, spec: ToolSpec) -> None:
        world, site = self._world, self._site(position)
        limit = self._limit(0.0 if spec.patient else self._state.brief.agent.tuning.tool_timeout)
        began = world.clock.monotonic()
        try:
            with nullcontext() if spec.patient else world.working():
                if spec.effect != "pure":
                    await world.confirm()
                result = await world.clock.within(limit, world.tools.call(call, site))
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
            failed = replace(record.failed(site, call, result.text), code=result.code)
            as_it_is = result.plain or result.recorded
            return replace(failed, text=storable(result.text)) if as_it_is else failed
        text, artifact = storable(result.text), ""
        limit = self._state.brief.agent.tuning.tool_response_max_bytes
        if len(text) > limit // 4 and len(whole := text.encode()) > limit:
            artifact = self._world.keep(whole)
            text = record.cut(whole, limit, artifact)
        if not result.recorded:
            text += storable(result.footer) + record.evidence_line(self._state, site)
        if not fits(self._state, tokens := estimated_tokens(text)):
            refused = record.failed(site, call, "context window budget exceeded")
            return replace(refused, overflow=True)
        seen = result.parts if fits(self._state, tokens + sum(part.tokens for part in result.parts)) else ()
        finished = record.finished(self._state, site, call, text, artifact)
        return replace(finished, parts=seen, records=result.records)

    def _refuse(self, refusals: tuple[tuple[int, ToolCall, Refusal], ...]) -> None:
        for position, call, refusal in refusals:
            refused = record.failed(self._site(position), call, refusal.reason)
            limit = refusal.reason if refusal.code == "budget" else ""
            self.happen(replace(refused, broke_schema=refusal.schema, code=refusal.code, limit=limit))

    def _consult(self, step: Consult) -> None:
        for position, call, ask in step.approvals:
            self.happen(record.approval_requested(self._state, position, call, ask))
        for position, call in step.doubts:
            self.happen(record.in_doubt(self._state, position, call, self._world.lease))

    def _site(self, position: int) -> Site:
        brief = self._state.brief
        return Site(
            run=brief.run, session=brief.session, span=brief.span, turn=self._state.turn, call=position
        )

    def _limit(self, own: float) -> float:
        """Seconds until a timeout: its own, or what the budgets around leave."""
        left = self._world.allowance().seconds.left
        return min(own or left, left)

    def _since(self, began: float) -> int:
        return round((self._world.clock.monotonic() - began) * 1000)
