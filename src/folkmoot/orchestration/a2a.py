"""`a2a_send`, `a2a_broadcast` and `a2a_spawn`: agents write to each other, and read the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SEND, A2A_SPAWN, draw
from folkmoot.domain.spans import child_span
from folkmoot.domain.text import storable
from folkmoot.domain.value import Value
from folkmoot.orchestration.a2a_tools import NEW, Broadcast, Send, Spawn, receivers
from folkmoot.orchestration.delivery import Letter, deliver
from folkmoot.orchestration.question import read_call
from folkmoot.orchestration.spawn import AgentCaller
from folkmoot.ports import Site
from folkmoot.session.record import cut

A = TypeVar("A", Send, Spawn, Broadcast)
_AROUND = 256
"""Bytes around each answer of a broadcast."""


class Reply(Value, omit_defaults=False):
    """What came of one message of a broadcast."""

    agent: str
    status: str
    """`replied` or `blocked`."""
    reply: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET


class Replies(Value, omit_defaults=False):
    conversation_id: str
    sent: int
    replied: int
    results: list[Reply]


class Messages(AgentCaller, frozen=True):
    """What one session writes to others."""

    async def write(self, call: ToolCall, site: Site) -> ToolResult:
        return await {A2A_SEND: self.send, A2A_BROADCAST: self.broadcast, A2A_SPAWN: self.send_off}[
            call.tool
        ](call, site)

    async def send(self, call: ToolCall, site: Site) -> ToolResult:
        asked = _read(call, Send)
        if isinstance(asked, ToolResult):
            return asked
        known = receivers(self.run.graph)
        conversation = self._conversation(asked.conversation_id, site)
        if asked.to not in known or not conversation:
            return self._misled(asked.to, known, asked.conversation_id)
        return await self._write(asked.to, known[asked.to], asked, site, conversation)

    async def send_off(self, call: ToolCall, site: Site) -> ToolResult:
        asked = _read(call, Spawn)
        if isinstance(asked, ToolResult):
            return asked
        known = receivers(self.run.graph)
        if asked.to not in known:
            return self._misled(asked.to, known)
        conversation = self._conversation("", site)
        text = storable(asked.message)
        letter = Letter(
            asked.to, known[asked.to], text, site.below, conversation, storable(asked.label), spawns=True
        )
        return await deliver(self, letter)

    async def broadcast(self, call: ToolCall, site: Site) -> ToolResult:
        asked = _read(call, Broadcast)
        if isinstance(asked, ToolResult):
            return asked
        known = receivers(self.run.graph)
        stranger = next((name for name in asked.agents if name not in known), "")
        conversation = self._conversation(asked.conversation_id, site)
        if stranger or not conversation:
            return self._misled(stranger or next(iter(known)), known, asked.conversation_id)
        others = {
            name: agent
            for name, agent in sorted(known.items())
            if agent.file != self.inv.agent.file and asked.reaches(name, agent)
        }
        if not others:
            return ToolResult("no other agent has this role and this capability, and is named", failed=True)
        works = (self._write(name, agent, asked, site, conversation) for name, agent in others.items())
        results = await self.run.log.together(works)
        return self._together(conversation, list(others), results)

    async def _write(
        self, name: str, agent: Agent, asked: Send | Broadcast, site: Site, conversation: str
    ) -> ToolResult:
        letter = Letter(
            name=name,
            to=agent,
            text=storable(asked.message),
            span=child_span(site.below, "to", name.replace("/", ".")),
            conversation=conversation,
            label=storable(asked.label),
            channel="broadcast" if isinstance(asked, Broadcast) else "a2a",
        )
        return await deliver(self, letter)

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

    def _misled(self, to: str, known: Mapping[str, Agent], conversation: str = "") -> ToolResult:
        if to in known:
            wrong = f"there is no conversation {conversation!r} in this run; leave it out, or say {NEW!r}"
        else:
            agents = self.run.graph.agents.values()
            json = any(to in (agent.id, agent.file) for agent in agents if agent.input.format == "json")
            why = ", because it takes JSON; call it as a tool, if you have it as one" if json else ""
            wrong = (
                f"there is no agent {to!r} that can be written to{why}; there are: {', '.join(sorted(known))}"
            )
        return ToolResult(text=wrong, failed=True)

    def _together(self, conversation: str, names: list[str], results: list[ToolResult]) -> ToolResult:
        """Each answer has an equal part of what one tool result may be; what is cut off is kept."""
        room = self.inv.agent.tuning.tool_response_max_bytes // len(names) - _AROUND
        replies = [
            self._reply(name, result, max(0, room)) for name, result in zip(names, results, strict=True)
        ]
        replied = sum(reply.status == "replied" for reply in replies)
        text = msgspec.json.encode(Replies(conversation, len(names), replied, replies)).decode()
        return ToolResult(text=text, failed=not replied, plain=True)

    def _reply(self, name: str, result: ToolResult, room: int) -> Reply:
        if result.failed:
            return Reply(name, "blocked", error=result.text)
        whole = (result.text + result.footer).encode()
        said = whole.decode() if len(whole) <= room else cut(whole, room, self.run.keep(whole))
        return Reply(name, "replied", reply=said, session_id=result.child)


def _read(call: ToolCall, form: type[A]) -> A | ToolResult:
    asked = read_call(call, form)
    empty = not isinstance(asked, ToolResult) and not asked.message.strip()
    return ToolResult(text="message is empty", failed=True) if empty else asked
