"""`call_agent`: a mission becomes a session of its own, and what came of it goes back as JSON.

Whatever goes wrong below, the caller reads it and goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from folkmoot.domain.call_events import (
    CacheHit,
    SubAgentCompleted,
    SubAgentFailed,
    SubAgentSpawned,
)
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.report import Outcome
from folkmoot.errors import OperationFailed
from folkmoot.orchestration.ask_parent import exchanged
from folkmoot.orchestration.custom import child_for
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.mission import Mission, read_mission
from folkmoot.orchestration.reach import path_to
from folkmoot.orchestration.returned import Returned
from folkmoot.orchestration.spawn import refuse, spawn, steps_taken
from folkmoot.orchestration.stamp import shortened, stamp_of
from folkmoot.orchestration.summary import summarized
from folkmoot.orchestration.transfer import staged
from folkmoot.ports import Site
from folkmoot.session.record import cut
from folkmoot.session.steps import Parked

_NOTE = 256
"""Bytes for saying that something was left out."""


class AgentCalls:
    """The calls of one session."""

    def __init__(self, run: Run, inv: Invocation, start: Start) -> None:
        self._run = run
        self._inv = inv
        self._start = start

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        asked = read_mission(None if call.malformed else call.arguments)
        if isinstance(asked, str):
            return ToolResult(text=asked, failed=True)
        returned = await self.fulfil(asked, site.below)
        text = msgspec.json.encode(self.fitted(returned, self.limit)).decode()
        return ToolResult(text=text, failed=not returned.success, child=returned.session_id, plain=True)

    @property
    def limit(self) -> int:
        """Bytes of one tool result that the caller reads."""
        return self._inv.agent.tuning.tool_response_max_bytes

    def fitted(self, returned: Returned, limit: int) -> Returned:
        """A result that is too long is cut and kept, so that what is around it stays whole."""
        over = len(msgspec.json.encode(returned)) - limit
        if over <= 0 or not returned.result:
            return returned
        whole = returned.result.encode()
        artifact = self._run.keep(whole)
        shown = cut(whole, max(0, len(whole) - over - _NOTE), artifact)
        return replace(returned, result=shown, artifact=returned.artifact or artifact)

    async def together(self, works: Iterable[Awaitable[Returned]]) -> list[Returned]:
        return await self._run.log.together(works)

    async def fulfil(self, asked: Mission, span: str) -> Returned:
        if asked.specialist and not asked.agent_definition:
            known = self._run.kit(self._inv).callable
            if asked.specialist not in known:
                return self._unknown(asked.specialist, known, span)
        child = child_for(self._run, self._inv, asked, span)
        custom = asked.agent_definition is not None
        try:
            if not self._run.graph.settings.orchestration.enable_result_cache:
                return await self._perform(child, custom)
            key = self._key(child, asked)
            async with self._run.cache.turns[key]:
                return await self._recalled(child, key) or await self._perform(child, custom, key)
        except (Parked, OperationFailed):
            raise
        except Exception as error:  # what breaks one child must not take its siblings' results along
            return self._refused(child, str(error), type(error).__name__)

    async def _perform(self, child: Invocation, custom: bool, key: str = "") -> Returned:
        run = self._run
        why, kind = refuse(run, child)
        if why:
            return self._refused(child, why, kind)
        outcome = await spawn(run, self._inv, child, self._start, custom=custom)
        if outcome.failed:
            return self._failed(child, outcome)
        whole = outcome.report.content or "No result"
        text, artifact = await summarized(run, child, whole, self._start)
        steps, stamp = steps_taken(run, child), stamp_of(run.log, child.span)
        asked = exchanged(run, child)
        key = "" if asked else key  # what its caller told it is no part of the key
        kept = run.keep(text.encode()) if key else ""
        completed = SubAgentCompleted(
            child.session, True, steps, stamp.tool_calls, stamp.not_returned, key, kept
        )
        if key:
            completed = replace(completed, sources=run.readings.within(child.span))
        run.log.once(child.place, completed)
        return Returned(
            success=True,
            result=text,
            session_id=child.session,
            steps_taken=steps,
            claims=shortened(outcome.report.claims) or UNSET,
            artifact=artifact or UNSET,
            asked_you=asked or UNSET,
        ).counted(stamp)

    def _failed(self, child: Invocation, outcome: Outcome) -> Returned:
        where = path_to(self._run.graph, child.agent, child.reach)
        error = f"{where}: {staged(self._run, outcome, child)}"
        event = SubAgentFailed(session=child.session, error=error, error_type=outcome.stop_reason)
        self._run.log.once(child.place, event)
        return Returned(
            success=False,
            result=error,
            session_id=child.session,
            steps_taken=steps_taken(self._run, child),
            error=error,
            error_type=outcome.stop_reason,
        ).counted(stamp_of(self._run.log, child.span))

    async def _recalled(self, child: Invocation, key: str) -> Returned | None:
        """A call that has begun is gone on with; one that was answered from the cache is answered the same."""
        run, settings = self._run, self._run.graph.settings.orchestration
        if any(isinstance(event, SubAgentSpawned) for event in run.log.of(child.span)):
            return None
        hits = (event for event in run.log.of(self._inv.span) if isinstance(event, CacheHit))
        hit = next((event for event in hits if event.span == child.span), None)
        if hit is None:
            await run.log.settle()  # a result of this very run must be there to be found
            found = await run.cache.find(key, settings.cache_ttl_seconds)
            if found is None:
                return None
            counted = (found.steps_taken, found.tool_calls, found.not_returned)
            hit = CacheHit(child.span, key, found.session, found.artifact, *counted, found.sources)
            run.log.once(self._inv.place, hit)
        text = await run.cache.text(hit.artifact)
        return Returned(
            success=True, result=text, session_id=hit.session, steps_taken=hit.steps_taken, cached=True
        ).counted(hit)

    def _unknown(self, specialist: str, known: Mapping[str, object], span: str) -> Returned:
        """The model's word for it never gets into an id."""
        above = {self._inv.agent.file, *self._inv.reach.above}
        ids = {self._run.graph.agents[file].id for file in above if file in self._run.graph.agents}
        nobody = child_for(self._run, self._inv, Mission(mission=""), span)
        if specialist in ids:
            error = f"{specialist!r} is the caller or waits for it, and cannot be called"
            return self._refused(nobody, error, "RecursiveCall")
        names = ", ".join(sorted(known)) or "none"
        error = f"there is no specialist {specialist!r}; there are: {names}"
        return self._refused(nobody, error, "UnknownSpecialist")

    def _refused(self, child: Invocation, why: str, kind: str) -> Returned:
        """Noted with the caller, because the child never began."""
        error = f"Sub-agent execution failed: {why}"
        event = SubAgentFailed(session=child.session, error=error, error_type=kind)
        self._run.log.once(self._inv.place, event)
        return Returned(success=False, result=error, session_id=child.session, error=error, error_type=kind)

    def _key(self, child: Invocation, asked: Mission) -> str:
        """Everything that the result depends on: all agent files, the child, its tools, its mission."""
        settings = self._run.graph.settings.orchestration
        summary = (settings.summarize_results, settings.summary_max_length, self._run.graph.fast)
        tools = self._run.kit(child).offered
        parts = (self._run.kits.version, child.agent, tools, asked, summary)
        return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
