"""Agents as tools: each call is a session of its own, and its answer goes back to the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.call_events import SubAgentFailed
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SEND, A2A_SPAWN, ASK_PARENT, ASK_USER, COORDINATION
from folkmoot.domain.part import File, objection, recorded
from folkmoot.domain.sources import joined
from folkmoot.domain.spans import ROOT
from folkmoot.domain.trace import call_name
from folkmoot.domain.value import Value
from folkmoot.orchestration.a2a import Messages
from folkmoot.orchestration.answer import returned
from folkmoot.orchestration.ask_parent import ask_parent
from folkmoot.orchestration.call_agent import AgentCalls
from folkmoot.orchestration.chats import ASK_CLARIFICATION
from folkmoot.orchestration.clarify import ask_clarification
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL
from folkmoot.orchestration.parallel import call_agents_parallel
from folkmoot.orchestration.plan_tool import PLAN_UPDATE, update_plan
from folkmoot.orchestration.references import ARTIFACT_READ, read_artifact
from folkmoot.orchestration.spawn import refuse, spawn
from folkmoot.ports import Site

_ASKING = {ASK_CLARIFICATION: ask_clarification, ASK_PARENT: ask_parent}


class _Arguments(Value, forbid_unknown_fields=True):
    prompt: str
    reason: str
    format: str = ""


class SessionTools:
    """Everything one session may call: its tools, and its agents as tools."""

    def __init__(self, run: Run, inv: Invocation, start: Start) -> None:
        self._run = run
        self._inv = inv
        kit = run.kit(inv)
        self._agents, self._brought = kit.agents, kit.brought
        self._start = start

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return self._run.tools.specs(names)

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        """What an agent says is based on all that was read for it."""
        result = await self._call(call, site)
        read = self._run.readings.within(site.below)
        return replace(result, sources=joined(result.sources, read)) if read else result

    async def _call(self, call: ToolCall, site: Site) -> ToolResult:
        if call.tool in self._brought:
            return await self._run.inbox.ask_caller(self._inv.place, call, site, self._run.seed)
        if call.tool in self._agents:
            return await self._delegate(self._agents[call.tool], call, site)
        if ask := _ASKING.get(call.tool):
            return await ask(self._run, self._inv, call, site, self._start)
        if own := self._OWN.get(call.tool):
            return await own(self, call, site)
        try:
            # What outlives a run is told to others, so that a secret stays a name there.
            given = call.arguments
            arguments = given if call.tool in COORDINATION else self._run.secrets.resolved(given)
        except KeyError as name:
            return ToolResult(text=f"there is no secret {name} that an argument may use", failed=True)
        trace = self._run.trace
        at = replace(
            site,
            work_dir=self._inv.work_dir,
            agent=self._inv.agent.id,
            work_session=self._run.log.work_session,
            sources=self._run.under_way[self._inv.session].state.sources,
            trace=trace.within(call_name(site.session, site.turn, site.call)) if trace else {},
        )
        result = await self._run.tools.call(replace(call, arguments=arguments), at)
        return self._kept(result)

    def _kept(self, result: ToolResult) -> ToolResult:
        """With everything in it that is no text as an artifact; images are shown to models that see."""
        kept = [(each, self._run.keep(each.content)) for each in result.attachments]
        said = (f"[{each.what} is artifact {id}]" for each, id in kept)
        text = "\n".join((self._run.secrets.text(result.text), *said))  # before it is cut
        files = ((File(id[:12], each.content), id) for each, id in kept)
        parts = (recorded(file, id) for file, id in files if not objection(file))
        seen = (*result.parts, *(part for part in parts if part.is_image))
        return replace(result, text=text, attachments=(), parts=seen)

    async def _ask_user(self, call: ToolCall, site: Site) -> ToolResult:
        return await self._run.inbox.ask(self._inv.place, call, site, self._run.seed)

    async def _call_agent(self, call: ToolCall, site: Site) -> ToolResult:
        return await AgentCalls(self._run, self._inv, self._start).call(call, site)

    async def _call_several(self, call: ToolCall, site: Site) -> ToolResult:
        return await call_agents_parallel(AgentCalls(self._run, self._inv, self._start), call, site)

    async def _write(self, call: ToolCall, site: Site) -> ToolResult:
        return await Messages(self._run, self._inv, self._start).tools[call.tool](call, site)

    async def _read(self, call: ToolCall, _: Site) -> ToolResult:
        """An artifact may hold what any tool of the run gave."""
        result = await read_artifact(self._run, call)
        return replace(result, sources=self._run.readings.within(ROOT))

    async def _update_plan(self, call: ToolCall, _: Site) -> ToolResult:
        return update_plan(self._run, self._inv, call)

    _OWN: ClassVar[dict[str, Callable[[SessionTools, ToolCall, Site], Awaitable[ToolResult]]]] = {
        ASK_USER: _ask_user,
        CALL_AGENT: _call_agent,
        CALL_AGENTS_PARALLEL: _call_several,
        A2A_SEND: _write,
        A2A_BROADCAST: _write,
        A2A_SPAWN: _write,
        ARTIFACT_READ: _read,
        PLAN_UPDATE.name: _update_plan,
    }
    """The tools of the runtime itself."""

    async def _delegate(self, agent: Agent, call: ToolCall, site: Site) -> ToolResult:
        try:
            asked = msgspec.convert(call.arguments, _Arguments)
        except msgspec.ValidationError as error:
            return ToolResult(text=str(error), failed=True)
        if not asked.prompt.strip():
            return ToolResult(text="prompt is empty", failed=True)
        child = self._inv.child(self._run, agent, "sub", site.below)
        child = replace(child, original=asked.prompt, blocks=(), parts=(), title=asked.reason)
        why, kind = refuse(self._run, child)
        if why:
            return self._refused(child, why, kind)
        outcome = await spawn(self._run, self._inv, child, self._start)
        return returned(self._run, child, outcome)

    def _refused(self, child: Invocation, why: str, kind: str) -> ToolResult:
        """Noted with the caller, because the child never began."""
        failed = SubAgentFailed(session=child.session, error=why, error_type=kind)
        self._run.log.once(self._inv.place, failed)
        return ToolResult(text=why, failed=True)
