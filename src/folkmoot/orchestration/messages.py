"""`a2a_send`, `a2a_broadcast` and `a2a_spawn`: agents write to each other, and read the answers.

Each message is guarded, read by its receiver in a session of its own, and answered once. The receiver is called like
every other agent (`AgentCaller`), so that budgets, recovery and accounting hold for it. Writing again in the same
conversation goes on with what was said there. What decides is the names of spans, never who was quicker: a message
knows the answers of earlier turns, and nothing of those that are sent beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Block
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SPAWN, draw
from folkmoot.domain.sources import Source, joined
from folkmoot.domain.spans import child_span, in_order, precedes
from folkmoot.domain.team_events import (
    PREVIEW,
    A2aComplete,
    A2aResponse,
    A2aSend,
    A2aSpawn,
    A2aSpawnResult,
    Exchange,
    GuardLoopBlocked,
    Thread,
)
from folkmoot.domain.text import storable
from folkmoot.domain.value import Value
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.orchestration.invocation import Invocation, wrap_request
from folkmoot.orchestration.kit import find_message_receivers, name_in_messages
from folkmoot.orchestration.other_runs import LoopGuard, SentMessage
from folkmoot.orchestration.runtime_tools import (
    NEW,
    BroadcastRequest,
    SendRequest,
    SpawnRequest,
    read_arguments,
)
from folkmoot.orchestration.transfer import AgentCaller, build_called_limits
from folkmoot.ports import Site
from folkmoot.session.record import conversation, cut
from folkmoot.session.steps import Parked

A = TypeVar("A", SendRequest, SpawnRequest, BroadcastRequest)
_AROUND = 256
"""Bytes around each answer of a broadcast."""


class AgentMessage(Value):
    """A message for one agent."""

    name: str
    """The receiver's."""
    to: Agent
    text: str
    span: str
    """Where it is read."""
    conversation: str
    label: str = ""
    channel: Literal["a2a", "broadcast"] = "a2a"
    spawns: bool = False
    """The receiver works for the sender, and is no partner in a conversation."""


class MessageSender(AgentCaller, frozen=True):
    """A session that writes to others."""

    async def write(self, call: ToolCall, site: Site) -> ToolResult:
        if call.tool == A2A_BROADCAST:
            return await self._broadcast(call, site)
        spawns = call.tool == A2A_SPAWN
        asked = _parse_message_call(call, SpawnRequest) if spawns else _parse_message_call(call, SendRequest)
        known, wanted = (
            find_message_receivers(self.run.graph),
            asked.conversation_id if isinstance(asked, SendRequest) else "",
        )
        conversation = self._conversation(wanted, site)
        if asked.to not in known or not conversation:
            raise self._misled(asked.to, known, wanted)
        span = site.below if spawns else self._span(site, asked.to)
        text, label = storable(asked.message), storable(asked.label)
        message = AgentMessage(asked.to, known[asked.to], text, span, conversation, label, spawns=spawns)
        return await self._deliver(message)

    async def _broadcast(self, call: ToolCall, site: Site) -> ToolResult:
        asked = _parse_message_call(call, BroadcastRequest)
        known = find_message_receivers(self.run.graph)
        stranger = next((name for name in asked.agents if name not in known), "")
        conversation = self._conversation(asked.conversation_id, site)
        if stranger or not conversation:
            raise self._misled(stranger or next(iter(known)), known, asked.conversation_id)
        text, label = storable(asked.message), storable(asked.label)
        messages = [
            AgentMessage(name, agent, text, self._span(site, name), conversation, label, "broadcast")
            for name, agent in sorted(known.items())
            if agent.file != self.inv.agent.file and asked.reaches(name, agent)
        ]
        if not messages:
            raise WrongUse("no other agent has this role and this capability, and is named")
        results = await self.run.log.together(map(self._deliver, messages))
        # Each answer has an equal part of what one tool result may be; what is cut off is kept.
        room = max(0, self.inv.agent.tuning.tool_response_max_bytes // len(messages) - _AROUND)
        replies = [self._reply(to.name, one, room) for to, one in zip(messages, results, strict=True)]
        replied = sum(not result.failed for result in results)
        told = {
            "conversationId": conversation,
            "sent": len(messages),
            "replied": replied,
            "results": replies,
        }
        return ToolResult(text=msgspec.json.encode(told).decode(), failed=not replied, plain=True)

    def _span(self, site: Site, name: str) -> str:
        return child_span(site.below, "to", name.replace("/", "."))

    def _conversation(self, wanted: str, site: Site) -> str:
        """Its id; empty for one that nobody in this run has heard of."""
        run, inside = self.run, self.inv.thread.conversation
        if wanted == NEW:
            return "conv_" + draw(run.seed, site.below, "conversation")
        own = "conv_" + draw(run.seed, "conversation")
        if not wanted:
            return inside or own
        known = {own, inside, *(draft.conversation_id for draft in run.log.drafts)}
        return wanted if wanted in known else ""

    def _misled(self, to: str, known: Mapping[str, Agent], conversation: str) -> WrongUse:
        if to in known:
            wrong = f"there is no conversation {conversation!r} in this run; leave it out, or say {NEW!r}"
        else:
            agents = self.run.graph.agents.values()
            json = any(to in (agent.id, agent.file) for agent in agents if agent.input.format == "json")
            why = ", because it takes JSON; call it as a tool, if you have it as one" if json else ""
            names = ", ".join(sorted(known))
            wrong = f"there is no agent {to!r} that can be written to{why}; there are: {names}"
        return WrongUse(wrong)

    def _reply(self, name: str, result: ToolResult, room: int) -> dict[str, str]:
        """What came of one message of a broadcast."""
        if result.failed:
            return {"agent": name, "status": "blocked", "error": result.text}
        whole = (result.text + result.footer).encode()
        said = whole.decode() if len(whole) <= room else cut(whole, room, self.run.keep(whole))
        return {"agent": name, "status": "replied", "reply": said, "sessionId": result.child}

    async def _deliver(self, message: AgentMessage) -> ToolResult:
        """The answer, or why there is none."""
        run, inv = self.run, self.inv
        held = self._held_before(message)
        child = inv.child(run, message.to, "sub", message.span)
        exchange = self._exchange(message, child.session, turn=len(held) + 1)
        child = self._reading(message, exchange, held, child)
        if objection := await self._loop_objection(message, exchange):
            return ToolResult(text=f"not delivered: {objection}", failed=True)
        said = A2aSpawn if message.spawns else A2aSend
        sender = replace(inv.place, conversation=message.conversation)
        run.log.once(sender, said(**asdict(exchange), message=_preview(message.text)))
        try:
            result = await self.result(child)
        except (Parked, OperationFailed):
            raise
        except asyncio.CancelledError:
            self._close(child, exchange, ToolResult("the run was cancelled", failed=True))
            raise
        except Exception as error:  # what breaks one receiver must not take the answers of others along
            result = self.refused(child, f"{type(error).__name__}: {error}", type(error).__name__)
        self._close(child, exchange, result)
        told = f"\n[runtime: conversation {message.conversation}, turn {exchange.turn}]"
        return result if result.failed else replace(result, footer=result.footer + told)

    def _close(self, child: Invocation, exchange: Exchange, result: ToolResult) -> None:
        """Exactly once, however often the answer arrives: a resumed run finds what was noted."""
        common, spawned, failed = asdict(exchange), not exchange.hop, result.failed
        sender, log = replace(self.inv.place, conversation=exchange.conversation_id), self.run.log
        said, error = ("", _preview(result.text)) if failed else (_preview(result.text), "")
        response = A2aResponse(
            **common,
            outcome="blocked" if failed else "replied",
            reply_preview=said,
            error=error,
            announced=spawned,
        )
        log.once(child.place, response)
        complete = A2aComplete(**common, total_turns=exchange.turn, reply_preview=said, announced=spawned)
        log.once(sender, complete)
        if spawned:
            log.once(sender, A2aSpawnResult(**common, status="error" if failed else "ok", error=error))

    async def _loop_objection(self, message: AgentMessage, exchange: Exchange) -> str:
        """What the loop guard says to it; what it said before a crash holds."""
        run, span, settings = self.run, message.span, self.run.graph.settings
        for event in run.log.of(self.inv.span):
            match event:
                case A2aSend(target_session_key=key) | A2aSpawn(target_session_key=key):
                    if key == exchange.target_session_key:
                        return ""
                case GuardLoopBlocked(span=blocked, reason=reason) if blocked == span:
                    return reason
        guard = LoopGuard(hops=settings.limits.a2a_hops)
        sent = SentMessage(exchange.from_agent, exchange.to_agent, run.traffic.now(), exchange.hop)
        if exchange.hop:
            reason = await run.traffic.objection(guard, sent, span, run.log)
        else:
            reason = guard.objection(sent)  # delegation has limits of its own
        if reason:
            dropped = message.text if settings.messages.keep_dropped else ""
            about = (exchange.conversation_id, exchange.hop, dropped)
            refused = GuardLoopBlocked(span, sent.sender, sent.receiver, reason, *about)
            run.log.once(self.inv.place, refused)
        return reason

    def _exchange(self, message: AgentMessage, session: str, turn: int) -> Exchange:
        run, inv = self.run, self.inv
        thread, sender = inv.thread, name_in_messages(run.graph, inv.agent)
        main = thread.main and not message.spawns
        return Exchange(
            from_agent=sender,
            to_agent=message.name,
            conversation_id=message.conversation,
            target_session_key=session,
            run_id=run.id,
            work_session_id=run.log.work_session,
            parent_conversation_id=thread.conversation if thread.conversation != message.conversation else "",
            task_id=run.errand.task,
            channel=message.channel,
            label=message.label,
            origin=thread.origin or sender,
            turn=turn,
            hop=0 if message.spawns else thread.hops + 1,
            depth=0 if main else inv.session.count(":") + 1,
            main=main,
        )

    def _reading(
        self, message: AgentMessage, exchange: Exchange, held: list[str], child: Invocation
    ) -> Invocation:
        """The agent with the message at the end of what was said before: it has read what its sender has read."""
        run = self.run
        reach = build_called_limits(run, child) if message.spawns else child.reach
        taint = joined(reach.taint, run.readings.within(*held))
        if run.behavior == 1 and not message.spawns:
            taint = reach.taint or (Source(f"what {exchange.from_agent} wrote"),)
        goes_on = bool(held) and not message.to.in_parts
        title = message.label or message.text.strip().partition("\n")[0][:80]
        hops = exchange.hop or self.inv.thread.hops
        return replace(
            child.asked(self._worded(message, exchange, held), title),
            before=conversation(message.to, map(run.log.of, held)) if goes_on else (),
            reach=replace(reach, taint=taint),
            thread=Thread(message.conversation, exchange.origin, hops, main=exchange.main),
        )

    def _worded(self, message: AgentMessage, exchange: Exchange, held: list[str]) -> str:
        """Who writes to whom stands outside the fence of the text, so that no text can pass for another's. Before it
        stands what others wrote to the receiver in this conversation since it last answered there, and was not
        delivered."""
        headers = {
            "From": exchange.from_agent,
            "To": exchange.to_agent,
            "Origin": exchange.origin if exchange.origin != exchange.from_agent else "",
            "Conversation": f"{exchange.conversation_id}, turn {exchange.turn}",
        }
        lines = "\n".join(f"{name}: {value}" for name, value in headers.items() if value)
        dropped = (
            Block("dropped", event.message, event.from_agent)
            for draft in self.run.log.drafts
            if isinstance(event := draft.event, GuardLoopBlocked)
            and (event.to_agent, event.conversation_id) == (message.name, message.conversation)
            and event.message
            and event.from_agent != event.to_agent
            and precedes(event.span, message.span)
            and not any(precedes(event.span, answered) for answered in held)
        )
        blocks = (*dropped, Block("message", message.text, self.inv.agent.id))
        return f"{lines}\n\n{wrap_request('', blocks, seed=self.run.seed, span=message.span)}"

    def _held_before(self, message: AgentMessage) -> list[str]:
        """The spans in which the receiver answered the sender in this conversation before."""
        pair = (name_in_messages(self.run.graph, self.inv.agent), message.name, message.conversation)
        answered = {
            draft.span
            for draft in self.run.log.drafts
            if isinstance(event := draft.event, A2aResponse)
            and event.outcome == "replied"
            and (event.from_agent, event.to_agent, event.conversation_id) == pair
            and precedes(draft.span, message.span)
        }
        return sorted(answered, key=in_order)


def _parse_message_call(call: ToolCall, form: type[A]) -> A:
    asked = read_arguments(call.arguments, form)
    if not asked.message.strip():
        raise WrongUse("message is empty")
    return asked


def _preview(text: str) -> str:
    return text if len(text) <= PREVIEW else f"{text[: PREVIEW - 1]}…"
