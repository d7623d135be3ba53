"""The step of a plan that a run carries out: what it may do, and what it has used up so far."""

from __future__ import annotations

from typing import ClassVar

from folkmoot.domain.budget import Budget
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.escalation import named_paths
from folkmoot.domain.event import Event
from folkmoot.domain.events import LlmResponse, ToolStarted
from folkmoot.domain.step_policy import Spent, StepBudget, StepPolicy
from folkmoot.orchestration.log import RunLog
from folkmoot.ports import Clock

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
