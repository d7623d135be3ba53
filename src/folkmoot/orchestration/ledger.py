"""What a run spent and may still spend: one ledger for the whole tree, folded from its events.

A request is counted when it is recorded, with the most it can cost, and corrected when its answer is recorded.
Since both happen without a pause between decision and record, parallel sessions cannot overdraw.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import ClassVar

import msgspec

from folkmoot.domain.budget import LEAST_OUTPUT, Allowance, Budget, Limits, Room
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Event
from folkmoot.domain.events import LlmFailed, LlmRequest, LlmResponse, SessionStarted, ToolStarted
from folkmoot.domain.gate import Spent, StepBudget, StepPolicy
from folkmoot.domain.sources import named_paths
from folkmoot.domain.spans import (
    CALLED,
    call_depth,
    calling_span,
    conversation,
    kind_of,
    parent_span,
    prefixes,
    steps_below,
)
from folkmoot.orchestration.log import RunLog
from folkmoot.ports import Clock

UNLIMITED = Allowance()
_ROUNDING = 1e-9
_OWN = ("lead", "route", "handoff", "clarify", "cycle", "round", "executor")


class SpendTally(msgspec.Struct):
    requests: int = 0
    tokens: int = 0
    usd: float = 0.0
    descendants: int = 0
    children: int = 0
    """Agents called as tools from this very span."""


class BudgetScope(msgspec.Struct, frozen=True):
    """One declared budget and the part of the run it holds for."""

    span: str
    budget: Budget
    owner: str
    began: float


class BudgetLedger:
    takes: ClassVar[tuple[type[Event], ...]] = (LlmRequest, LlmResponse, LlmFailed, SessionStarted)

    def __init__(self, limits: Limits, clock: Clock | None = None) -> None:
        """Without a clock, for a run that is only looked at, no wall time is counted."""
        self._limits = limits
        self.turnstile = asyncio.Semaphore(limits.concurrent)
        self._clock = clock
        self._scopes: dict[str, list[BudgetScope]] = {}
        self._tallies: defaultdict[str, SpendTally] = defaultdict(SpendTally)
        self._reserved: dict[str, LlmRequest] = {}
        self._closing: dict[str, int] = {}
        """Tokens that the next request of a session will take at least: its conversation so far."""
        self._admitted: set[str] = set()

    def open(self, span: str, budget: Budget, owner: str, since: str = "") -> None:
        """Let a budget hold from here on down. `since` is when it began, if that was in an earlier process."""
        if budget == Budget():
            return
        if any(scope.owner == owner for scope in self._scopes.get(span, ())):
            return  # a child that is asked again goes on with what it had
        self._scopes.setdefault(span, []).append(BudgetScope(span, budget, owner, self._began(since)))

    def fold(self, span: str, event: Event) -> None:
        match event:
            case LlmRequest():
                self._reserved[span] = event
                self._closing[span] = event.reserved_tokens - event.max_output
                self._spend(span, 1, event.reserved_tokens, event.reserved_usd)
            case LlmResponse():
                asked = self._reserved.pop(span)
                used = event.usage.tokens_in + event.usage.tokens_out
                self._closing[span] = used
                self._spend(span, 0, used - asked.reserved_tokens, event.cost_usd - asked.reserved_usd)
            case LlmFailed():
                asked = self._reserved.pop(span)
                self._spend(span, 0, -asked.reserved_tokens, -asked.reserved_usd)
            case SessionStarted():
                self._admit(span)

    def allowance(self, span: str) -> Allowance:
        """What a session at this place may spend now."""
        if not self._scopes:
            return UNLIMITED
        rooms = {"requests": Room(), "tokens": Room(), "usd": Room(), "seconds": Room()}
        for prefix in prefixes(span):
            for scope in self._scopes.get(prefix, ()):
                for name, room in self._rooms(scope, span):
                    if room.left < rooms[name].left:
                        rooms[name] = room
        return Allowance(**rooms)

    def admit(self, span: str) -> str:
        """Let a child begin, or say which limit forbids it."""
        if span in self._admitted:
            return ""
        if kind_of(span) in CALLED:
            if call_depth(span) >= self._limits.call_depth:
                return f"call depth {self._limits.call_depth} (limits.callDepth)"
            if self._tallies[_find_calling_conversation(span)].children >= self._limits.children_per_parent:
                return f"{self._limits.children_per_parent} children per parent (limits.childrenPerParent)"
        for prefix in prefixes(span)[:-1]:
            for scope in self._scopes.get(prefix, ()):
                limit = scope.budget.descendants
                if limit is not None and self._tallies[prefix].descendants >= limit:
                    return f"{limit} descendants of {scope.owner}"
        self._admit(span)
        return ""

    def overdrawn(self, span: str, of: Collection[str]) -> str:
        """A limit around this place that is exceeded; there is none as long as everybody asks `allowance`."""
        for prefix in prefixes(span):
            for scope in self._scopes.get(prefix, ()):
                for name in of:
                    limit, spent = getattr(scope.budget, name), getattr(self._tallies[prefix], name)
                    if limit is not None and spent > limit + _ROUNDING:
                        return f"{spent:.10g} {name} are spent or reserved; {scope.owner} has {limit:.10g}"
        return ""

    def _began(self, since: str) -> float:
        if self._clock is None:
            return 0.0
        elapsed = seconds_between(since, self._clock.now()) if since else 0.0
        return self._clock.monotonic() - elapsed

    def _admit(self, span: str) -> None:
        span = conversation(span)
        if span in self._admitted:
            return
        self._admitted.add(span)
        if kind_of(span) == "clarify":
            return  # nobody new: a child that is there already is asked again
        for prefix in prefixes(span)[:-1]:
            self._tallies[prefix].descendants += 1
        if kind_of(span) in CALLED:
            self._tallies[_find_calling_conversation(span)].children += 1

    def _spend(self, span: str, requests: int, tokens: int, usd: float) -> None:
        for prefix in prefixes(span):
            tally = self._tallies[prefix]
            tally.requests += requests
            tally.tokens += tokens
            tally.usd += usd

    def _rooms(self, scope: BudgetScope, span: str) -> Iterator[tuple[str, Room]]:
        budget, spent, owner = scope.budget, self._tallies[scope.span], scope.owner
        # The last request belongs to whoever must say at the end what happened, and so do the tokens for it.
        kept = 0 if _is_own_work(scope.span, span) else 1
        if budget.requests is not None:
            left = budget.requests - spent.requests - kept
            yield "requests", Room(left, f"{budget.requests} requests of {owner}")
        if budget.tokens is not None:
            closing = self._closing.get(scope.span, 0) + 2 * LEAST_OUTPUT
            left = budget.tokens - spent.tokens - kept * closing
            yield "tokens", Room(left, f"{budget.tokens} tokens of {owner}")
        if budget.usd is not None:
            yield "usd", Room(budget.usd - spent.usd, f"{budget.usd} USD of {owner}")
        if budget.wall and self._clock:
            limit = f"{budget.wall:g} s wall time of {owner}"
            yield "seconds", Room(budget.wall - self._elapsed(scope, span, limit), limit)

    def _elapsed(self, scope: BudgetScope, span: str, limit: str) -> float:
        """Seconds of a scope's wall time that are over."""
        return self._clock.monotonic() - scope.began if self._clock else 0.0


def _is_own_work(scope: str, span: str) -> bool:
    """Whether a span stands in for the scope's own agent: itself, its route, its handoff, its team's lead, itself
    asked again or carrying out its own plan."""
    return all(kind in _OWN for kind, _ in steps_below(span, scope))


def _find_calling_conversation(span: str) -> str:
    """The conversation that calls: one limit holds for it, however often it is taken up again."""
    caller = calling_span(span)
    return parent_span(caller) if kind_of(caller) == "clarify" else caller


NOTHING_SPENT = Spent()


class StepAccount:
    """Folded from the run's events. Where no budget is set, which is usual, nothing is counted."""

    takes: ClassVar[tuple[type[Event], ...]] = (LlmResponse, ToolStarted)

    def __init__(self) -> None:
        self.policy = StepPolicy()
        self._clock: Clock | None = None
        self._since = ""
        self._tokens = 0
        self._files: frozenset[str] = frozenset()

    def open(self, policy: StepPolicy, log: RunLog, clock: Clock) -> None:
        """Let a policy hold for the whole run, also for what an earlier activation did."""
        self.policy = policy
        if policy.budget != StepBudget():
            self._clock, self._since = clock, log.began(log.drafts[0].span)
            for draft in log.drafts:
                self.fold(draft.span, draft.event)
            log.watch(self)

    @property
    def budget(self) -> Budget:
        """What the ledger can see to before anything is sent."""
        return Budget(tokens=self.policy.budget.tokens, wall=self.policy.budget.time)

    def fold(self, span: str, event: Event) -> None:
        match event:
            case LlmResponse(usage=usage):
                self._tokens += usage.tokens_in + usage.tokens_out
            case ToolStarted(access="write", arguments=arguments):
                self._files |= named_paths(arguments)

    def spent(self) -> Spent:
        """By the times in the journal, so that a replay knows them."""
        if self._clock is None:
            return NOTHING_SPENT
        return Spent(seconds_between(self._since, self._clock.now()), self._tokens, self._files)
