"""One activation of one run, from wherever its journal stands to an end, a wait or a cancellation; what it runs, where,
and who listens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Errand, own_work_session
from folkmoot.domain.events import (
    BEHAVIOR,
    CancelRequested,
    LlmFailed,
    LlmResponse,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunStarted,
    SessionCancelled,
    SystemError,
)
from folkmoot.domain.report import Outcome
from folkmoot.domain.secrets import NO_SECRETS, Secrets
from folkmoot.domain.spans import ROOT, is_within, parent_span, without_cycle
from folkmoot.domain.team_events import TeamBroadcast, TeamMemberExited, TeamMemberFailed
from folkmoot.domain.value import Value
from folkmoot.errors import FailureKind, HandedOver, OperationFailed
from folkmoot.orchestration.inbox import InboxOptions
from folkmoot.orchestration.invocation import TokenListeners
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.run import AgentRun
from folkmoot.ports import Models, Tools
from folkmoot.session.steps import Parked


class RunRequest(Value):
    """What somebody wants of an agent."""

    file: str
    request: str
    errand: Errand = Errand()

    def work_session(self, run: str) -> str:
        return self.errand.work_session or own_work_session(run)


class RunnableProject(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded project with everything its agents need to run."""

    graph: Graph
    graph_id: str
    """The artifact that holds the graph."""
    tools_id: str = ""
    """The artifact that holds what its tools are."""
    declared: bytes = b""
    """What that artifact holds."""
    kits: ToolsetFactory
    models: Models
    tools: Tools
    secrets: Secrets = NO_SECRETS

    """What must not be recorded."""

    def started(self, asked: RunRequest, seed: str) -> RunStarted:
        """How a run of it begins."""
        request = self.secrets.text(asked.request)
        return RunStarted(asked.file, request, self.graph_id, seed, self.tools_id, asked.errand, BEHAVIOR)


class Activation:
    def __init__(
        self,
        run: AgentRun,
        started: RunStarted,
        *,
        fresh: bool,
        paused: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`paused` is asked as soon as others can see that the run has begun: they may have paused its work session
        before."""
        self.run = run
        self.fresh = fresh
        self._started = started
        self._paused = paused
        self._place = Place(span=ROOT, session=run.id, agent=run.graph.agents[started.agent].id)
        self._stopping = ""
        self._abandoned = False
        self._leaving = False
        self._resting = ""
        """The work session that was paused."""
        self._decided = False
        """Whether it is known how it ends: nothing can be stopped any more."""
        self.parked = False
        """Whether it ended because all that was left of the run waits for someone."""
        self._task: asyncio.Task[object] | None = None
        self._over: asyncio.Future[None] | None = None

    async def to_its_end(self) -> None:
        """Return when the run has ended or parked, durably. Cancelling the caller cancels the run first.

        Raises `HandedOver` when it was left to another process before that.
        """
        self._task = asyncio.current_task()
        self.run.log.when_lost = self._abandon
        self.run.inbox.when_overdue = self.stop
        try:
            if self.fresh:
                self._note(self._started)
            end = await self._end()
            self._task, self._decided = None, True
            self.parked = isinstance(end, RunParked)
            if self.run.log.drafts.last != end:  # an activation that found nothing new says nothing new
                self._note(end)
            await self.run.log.settle()
        finally:
            self._task = None
            if self._over:
                self._over.set_result(None)
        if isinstance(end, RunCancelled) and not self._stopping:
            raise asyncio.CancelledError

    def stop(self, reason: str) -> None:
        """Acknowledge a stop: from here on nothing new begins."""
        if self._task is None or self._stopping:
            return
        self._stopping = reason
        self._note(CancelRequested(reason=reason))
        self.run.log.flush()
        self._task.cancel()

    def hand_over(self, *, at_once: bool) -> None:
        """Leave the run to another process: nothing new begins, what is under way is waited for, or cut off at once.

        Neither is a cancellation, and neither leaves a trace in the journal. It may not have begun yet.
        """
        if self._decided or self._stopping:
            return
        self._leaving = True
        self.run.inbox.close()
        if at_once:
            self.run.log.close(HandedOver(self.run.id))

    def rest(self, work_session: str) -> None:
        """Begin nothing new and park: the work session of this run is paused."""
        if not self._decided and not self._stopping and not self._leaving:
            self._resting = work_session
            self.run.inbox.close()

    def _abandon(self) -> None:
        """Nothing can be recorded any more, so nothing may go on; who waits for a person would do so for ever."""
        if self._task and not self._stopping:
            self._abandoned = True
            self._task.cancel()

    async def ended(self) -> None:
        if self._task:
            self._over = asyncio.get_running_loop().create_future()
            await self._over

    async def _end(self) -> Event:
        """How this activation ends. Every wait of it is in here, because whoever stops or abandons it cancels the task:
        what that means is decided in this one place, and no caller is told of a cancellation that it did not ask for.
        """
        try:
            return await self._work()
        except asyncio.CancelledError:
            if self._abandoned and self._task and self.run.log.lost:
                self._task.uncancel()
                raise self.run.log.lost from None
            return self._cancelled()
        except OperationFailed:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            self._note(SystemError(error=said))
            end_sessions(self.run.log, said)
            return RunFailed(error=said, stop_reason="SYSTEM_ERROR", kind="unknown")

    async def _work(self) -> Event:
        if self._paused:
            await self.run.log.settle()  # raises `Conflict` if the run exists already
            if await self._paused():
                self.rest(self.run.log.work_session)
        try:
            outcome = await self.run.begin(self._started)
        except Parked:
            if self._leaving:
                await self.run.log.settle()
                raise HandedOver(self.run.id) from None
            resting = (self._resting,) if self._resting else ()
            until = "" if resting else self.run.inbox.until
            return RunParked(waiting=(*resting, *self.run.inbox.open_ids), until=until)
        if outcome.failed:
            kind, reset_after = _find_model_failure(self.run.log, outcome)
            read = self.run.readings.within(ROOT)
            return RunFailed(outcome.error, outcome.stop_reason, outcome, read, kind, reset_after)
        return RunCompleted(outcome, self.run.readings.within(ROOT))

    def _cancelled(self) -> RunCancelled:
        """By `stop`, which is no affair of the caller's task; or with the caller, which then goes on unwinding."""
        if self._stopping and self._task:
            self._task.uncancel()
        else:
            self._note(CancelRequested(reason="interrupted"))
        end_sessions(self.run.log, "the run was cancelled")
        return RunCancelled(reason=self._stopping or "interrupted")

    def _note(self, event: Event) -> None:
        self.run.log.note(self._place, event)


def _find_model_failure(log: RunLog, outcome: Outcome) -> tuple[FailureKind, float]:
    """Why no model answered in the place where a run failed, or below it; nothing where one did, last."""
    last = {
        draft.span: draft.event
        for draft in log.drafts
        if isinstance(draft.event, LlmResponse | LlmFailed) and is_within(draft.span, outcome.span)
    }
    failed = [event for event in last.values() if isinstance(event, LlmFailed)]
    return (failed[-1].kind or "unknown", failed[-1].reset_after) if failed else ("unknown", 0.0)


def cancel_orphan(log: RunLog, reason: str) -> None:
    """Every session that began gets its end, then the run."""
    end_sessions(log, reason)
    log.note(Place.of(log.drafts[0]), RunCancelled(reason=reason))


def end_sessions(log: RunLog, reason: str) -> None:
    """Those too that began in an earlier activation, and that this one had not come back to."""
    for begun in log.drafts.open_sessions:
        log.note(Place.of(begun), SessionCancelled(reason=reason))


class TeamSubscriber(Protocol):
    """Told as it happens, in the order of the journal. `team` is the run and the span of the team."""

    def on_member_broadcast(self, team: tuple[str, str], broadcast: TeamBroadcast) -> None: ...

    def on_member_exit(self, team: tuple[str, str], member_id: str, reason: str) -> None:
        """A member is no longer in the team; without a reason it has done its part."""


def build_team_watcher(subscriber: TeamSubscriber, run: str) -> Callable[[str, Event], None]:
    """A watcher of a run's log that tells the subscriber."""

    def watch(span: str, event: Event) -> None:
        team = (run, parent_span(without_cycle(span)))
        match event:
            case TeamBroadcast():
                subscriber.on_member_broadcast(team, event)
            case TeamMemberExited(member_id=member):
                subscriber.on_member_exit(team, member, "")
            case TeamMemberFailed(member_id=member, reason=reason):
                subscriber.on_member_exit(team, member, reason)

    return watch


class RunClient(msgspec.Struct, frozen=True, kw_only=True):
    """Who hears a run and is there to answer it."""

    ear: TokenListeners | None = None
    attendance: InboxOptions = InboxOptions()
