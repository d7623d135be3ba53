"""Agents as tools: each call is a session of its own, and its answer goes back to the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.budget import Room
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.evidence import Evidence
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SEND, A2A_SPAWN, ASK_PARENT, ASK_USER, COORDINATION
from folkmoot.domain.part import File, Part, objection, recorded
from folkmoot.domain.sources import joined
from folkmoot.domain.spans import ROOT
from folkmoot.domain.trace import call_name
from folkmoot.domain.value import Value
from folkmoot.orchestration.a2a import Messages
from folkmoot.orchestration.ask_parent import ask_parent
from folkmoot.orchestration.call_agent import AgentCalls, call_agents_parallel
from folkmoot.orchestration.chats import ASK_CLARIFICATION
from folkmoot.orchestration.clarify import ask_clarification
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL
from folkmoot.orchestration.plan_tool import PLAN_UPDATE, update_plan
from folkmoot.orchestration.question import read_call
from folkmoot.orchestration.references import ARTIFACT_READ, read_artifact
from folkmoot.orchestration.spawn import AgentCaller
from folkmoot.ports import Site
from folkmoot.session.calls import Around

_ANY_PACE = Room()
_WINDOW = timedelta(seconds=60)


class _Arguments(Value, forbid_unknown_fields=True):
    prompt: str
    reason: str
    format: str = ""


class SessionTools(AgentCaller, frozen=True):
    """Everything one session may call: its tools, and its agents as tools."""

    kit: Kit

    @property
    def evidence(self) -> Evidence:
        return self.run.evidence.results

    def keep(self, content: bytes) -> str:
        return self.run.keep(content)

    def content(self, part: Part) -> Awaitable[bytes]:
        return self.run.content(part)

    def extra(self) -> tuple[ToolSpec, ...]:
        return () if self.inv.cause == "ask" else self.run.chats.offers(self.inv.span)

    def around(self) -> Around:
        run, most = self.run, self.run.graph.settings.limits.tool_calls_per_minute
        room = pace(run.log, self.inv.agent.id, most, run.clock.now()) if most else _ANY_PACE
        return Around(run.inbox.grants.granted, room, run.step.spent(), has_task=bool(run.errand.task))

    async def call(self, call: ToolCall, site: Site) -> ToolResult:
        """What an agent says is based on all that was read for it."""
        result = await self._call(call, site)
        read = self.run.readings.within(site.below)
        return replace(result, sources=joined(result.sources, read)) if read else result

    async def _call(self, call: ToolCall, site: Site) -> ToolResult:
        if call.tool in self.kit.brought:
            return await self.run.inbox.ask_caller(self.inv.place, call, site, self.run.seed)
        if call.tool in self.kit.agents:
            return await self._delegate(self.kit.agents[call.tool], call, site)
        if own := _OWN.get(call.tool):
            return await own(self, call, site)
        try:
            # What outlives a run is told to others, so that a secret stays a name there.
            given = call.arguments
            arguments = given if call.tool in COORDINATION else self.run.secrets.resolved(given)
        except KeyError as name:
            return ToolResult(text=f"there is no secret {name} that an argument may use", failed=True)
        trace = self.run.trace
        at = replace(
            site,
            work_dir=self.inv.work_dir,
            agent=self.inv.agent.id,
            work_session=self.run.log.work_session,
            sources=self.run.under_way[self.inv.session].state.sources,
            trace=trace.within(call_name(site.session, site.turn, site.call)) if trace else {},
        )
        result = await self.run.tools.call(replace(call, arguments=arguments), at)
        return self._kept(result)

    def _kept(self, result: ToolResult) -> ToolResult:
        """With everything in it that is no text as an artifact; images are shown to models that see."""
        kept = [(each, self.run.keep(each.content)) for each in result.attachments]
        said = (f"[{each.what} is artifact {id}]" for each, id in kept)
        text = "\n".join((self.run.secrets.text(result.text), *said))  # before it is cut
        files = ((File(id[:12], each.content), id) for each, id in kept)
        parts = (recorded(file, id) for file, id in files if not objection(file))
        seen = (*result.parts, *(part for part in parts if part.is_image))
        return replace(result, text=text, attachments=(), parts=seen)

    async def _read(self, call: ToolCall) -> ToolResult:
        """An artifact may hold what any tool of the run gave."""
        result = await read_artifact(self.run, call)
        return replace(result, sources=self.run.readings.within(ROOT))

    async def _delegate(self, agent: Agent, call: ToolCall, site: Site) -> ToolResult:
        asked = read_call(call, _Arguments)
        if isinstance(asked, ToolResult):
            return asked
        if not asked.prompt.strip():
            return ToolResult(text="prompt is empty", failed=True)
        child = self.inv.child(self.run, agent, "sub", site.below)
        return await self.result(child.asked(asked.prompt, asked.reason))


async def _update_plan(own: SessionTools, call: ToolCall, _: Site) -> ToolResult:
    return update_plan(own.run, own.inv, call)


_OWN: dict[str, Callable[[SessionTools, ToolCall, Site], Awaitable[ToolResult]]] = {
    ASK_USER: lambda own, call, site: own.run.inbox.ask(own.inv.place, call, site, own.run.seed),
    ASK_CLARIFICATION: lambda own, call, site: ask_clarification(own.run, own.inv, call, site, own.start),
    ASK_PARENT: lambda own, call, site: ask_parent(own.run, own.inv, call, site, own.start),
    CALL_AGENT: lambda own, call, site: AgentCalls(own.run, own.inv, own.start).call(call, site),
    CALL_AGENTS_PARALLEL: lambda own, call, site: call_agents_parallel(
        AgentCalls(own.run, own.inv, own.start), call, site
    ),
    **dict.fromkeys(
        (A2A_SEND, A2A_BROADCAST, A2A_SPAWN),
        lambda own, call, site: Messages(own.run, own.inv, own.start).write(call, site),
    ),
    ARTIFACT_READ: lambda own, call, _: own._read(call),
    PLAN_UPDATE.name: _update_plan,
}
"""The tools of the runtime itself."""


def pace(log: RunLog, agent: str, most: int | None, now: str) -> Room:
    """How many more calls an agent may make now; by the times in the journal, so that a resumed run knows them."""
    if most is None:
        return Room()
    until, made = datetime.fromisoformat(now), list[datetime]()
    for draft in reversed(log.drafts):
        at = datetime.fromisoformat(draft.ts)
        if until - at >= _WINDOW:
            break
        if draft.agent_id == agent and isinstance(draft.event, ToolStarted):
            made.append(at)
    oldest = made[most - 1] if len(made) >= most else until
    again = (oldest + _WINDOW - until).total_seconds()
    limit = f"{most} tool calls a minute (limits.toolCallsPerMinute); try again in {again:.0f} s"
    return Room(most - len(made), limit)
