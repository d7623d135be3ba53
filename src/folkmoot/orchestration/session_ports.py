"""The ports of one session that know its place in the run: everything it may call, and who answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.budget import Room
from folkmoot.domain.events import ToolStarted
from folkmoot.domain.evidence import Evidence
from folkmoot.domain.gate import Refuse, Standing
from folkmoot.domain.inbox import Item
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDeclined
from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec, canonical, visible
from folkmoot.domain.naming import ASK_PARENT, ASK_USER, COORDINATION, MESSAGES
from folkmoot.domain.part import File, Part, objection, recorded
from folkmoot.domain.sources import joined, named, untrusted
from folkmoot.domain.trace import call_name
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse
from folkmoot.orchestration.call_agent import AgentCalls
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import SessionToolset
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.messages import MessageSender
from folkmoot.orchestration.planner import update_plan
from folkmoot.orchestration.questions import ask_clarification, ask_parent, build_parent_question
from folkmoot.orchestration.references import read_artifact
from folkmoot.orchestration.runtime_tools import (
    ARTIFACT_READ,
    ASK_CLARIFICATION,
    CALL_AGENT,
    CALL_AGENTS_PARALLEL,
    PLAN_UPDATE,
    read_arguments,
)
from folkmoot.orchestration.transfer import AgentCaller
from folkmoot.ports import Site
from folkmoot.session.gate import judge
from folkmoot.session.state import State

_ANY_PACE = Room()
_WINDOW = timedelta(seconds=60)
_YES = "approve"
_SHOWN_ANSWER = 300
"""Characters of an answer that is no clear yes."""


class _Delegation(Value, forbid_unknown_fields=True):
    prompt: str
    reason: str
    format: str = ""


class SessionTools(AgentCaller, frozen=True):
    """Everything one session may call: its tools, and its agents as tools."""

    kit: SessionToolset

    @property
    def evidence(self) -> Evidence:
        return self.run.evidence.results

    def keep(self, content: bytes) -> str:
        return self.run.keep(content)

    def content(self, part: Part) -> Awaitable[bytes]:
        return self.run.content(part)

    def extra(self) -> tuple[ToolSpec, ...]:
        return () if self.inv.cause == "ask" else self.run.chats.offers(self.inv.span)

    def around(self) -> Standing:
        run, most = self.run, self.run.graph.settings.limits.tool_calls_per_minute
        room = _count_calls_left(run.log, self.inv.agent.id, most, run.clock.now()) if most else _ANY_PACE
        granted, task = run.inbox.grants.granted, run.errand.task
        return Standing(granted=granted, pace=room, spent=run.step.spent(), has_task=bool(task))

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
            return await own(self.run, self.inv, call, site)
        try:
            # What outlives a run is told to others, so that a secret stays a name there.
            given = call.arguments
            arguments = given if call.tool in COORDINATION else self.run.secrets.resolved(given)
        except KeyError as name:
            raise WrongUse(f"there is no secret {name} that an argument may use") from None
        trace = self.run.trace
        at = replace(
            site,
            work_dir=self.inv.work_dir,
            agent=self.inv.agent.id,
            work_session=self.run.log.work_session,
            sources=self.run.under_way[self.inv.session].state.sources,
            trace=trace.within(call_name(site.session, site.turn, site.call)) if trace else {},
        )
        return self._kept(await self.run.tools.call(replace(call, arguments=arguments), at))

    def _kept(self, result: ToolResult) -> ToolResult:
        """With everything in it that is no text as an artifact; images are shown to models that see."""
        kept = [(each, self.run.keep(each.content)) for each in result.attachments]
        said = (f"[{each.what} is artifact {id}]" for each, id in kept)
        text = "\n".join((self.run.secrets.text(result.text), *said))  # before it is cut
        files = ((File(id[:12], each.content), id) for each, id in kept)
        parts = (recorded(file, id) for file, id in files if not objection(file))
        seen = (*result.parts, *(part for part in parts if part.is_image))
        return replace(result, text=text, attachments=(), parts=seen)

    async def _delegate(self, agent: Agent, call: ToolCall, site: Site) -> ToolResult:
        asked = read_arguments(call.arguments, _Delegation)
        if not asked.prompt.strip():
            raise WrongUse("prompt is empty")
        child = self.inv.child(self.run, agent, "sub", site.below)
        return await self.result(child.asked(asked.prompt, asked.reason))


_OWN: dict[str, Callable[[Run, Invocation, ToolCall, Site], Awaitable[ToolResult]]] = {
    ASK_USER: lambda run, inv, call, site: run.inbox.ask(inv.place, call, site, run.seed),
    ASK_CLARIFICATION: ask_clarification,
    ASK_PARENT: ask_parent,
    CALL_AGENT: lambda run, inv, call, site: AgentCalls(run, inv).call(call, site),
    CALL_AGENTS_PARALLEL: lambda run, inv, call, site: AgentCalls(run, inv).call_parallel(call, site),
    **dict.fromkeys(MESSAGES, lambda run, inv, call, site: MessageSender(run, inv).write(call, site)),
    ARTIFACT_READ: read_artifact,
    PLAN_UPDATE.name: update_plan,
}
"""The tools of the runtime itself."""


def _count_calls_left(log: RunLog, agent: str, most: int, now: str) -> Room:
    """How many more calls an agent may make now; by the times in the journal, so that a resumed run knows them."""
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


class SessionInbox(msgspec.Struct, frozen=True):
    """The inbox of a run for one session of it.

    Where the project wants it so, an agent says the word that a call waits for: the one that called, or the lead of the
    team. It answers as to `ask_parent`. It can approve only what it may do itself, and only while it has read nothing
    of others; whatever is not a clear yes goes on to a person.
    """

    run: Run
    inv: Invocation

    def working(self) -> AbstractContextManager[object]:
        return self.run.inbox.room

    def begin(self) -> None:
        self.run.inbox.room.begin()

    async def answered(self, id: str) -> None:
        """Return when somebody said something to an item of this session's, or raise `Parked`."""
        run, item = self.run, self.run.inbox.items[id]
        approver = item.approvers[0] if item.kind == "approval" and item.is_open else ""
        if approver == "parent":
            await self._ask(item, run.under_way[self.inv.parent].state)
        elif approver == "lead":
            await self._ask(item, run.leads[self.inv.parent]())
        else:
            await run.inbox.answered(id)

    async def _ask(self, item: Item, asked: State) -> None:
        run, by, said = self.run, f"agent {asked.brief.agent.id}", _find_approval_bar(asked, item)
        if not said:
            site = Site(run.id, item.session, item.span, item.turn, item.call)
            asking = build_parent_question(run, self.inv, asked, _render_question(item), site)
            if asking.turns_before >= asking.agent.tuning.max_turns:
                said = "it has no turn left (maxTurns) to answer in"
            else:
                outcome = await run.start(asking)
                said = outcome.error if outcome.failed else outcome.report.content.strip()
        if not run.inbox.items[item.id].is_open:
            return  # a person was quicker
        if said.lower() == _YES:
            run.inbox.happen(item, ApprovalApproved(id=item.id, by=by))
        else:
            run.log.once(self.inv.place, ApprovalDeclined(id=item.id, by=by, reason=said[:_SHOWN_ANSWER]))


def _find_approval_bar(asked: State, item: Item) -> str:
    """Why an agent cannot approve a call at all."""
    brief = asked.brief
    spec = next((spec for spec in brief.toolset.tools if spec.name == item.tool), None)
    if spec is None:
        return "it does not have this tool itself"
    if brief.policy.contains and (read := untrusted(asked.sources)):
        return f"it has read {named(read)}"
    plan = asked.submitted.policy(asked.calls)
    standing = Standing(gated=asked.gated, has_task=bool(asked.task), plan=plan)
    judged = judge(brief.policy, standing, ToolCall("", item.tool, item.arguments), spec)
    return f"it may not make this call itself: {judged.reason}" if isinstance(judged, Refuse) else ""


def _render_question(item: Item) -> str:
    """The whole call, as a person would see it."""
    why = f"It is asked because {item.why}. " if item.why else ""
    return (
        f"I need your word before I make this call, risk {item.risk}:\n\n"
        f"{visible(canonical(item.tool, item.arguments))}\n\n{visible(why)}"
        f"Answer with the one word {_YES} if it shall be made as it stands here, otherwise say why not."
    )
