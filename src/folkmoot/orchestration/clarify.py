"""Clarification: a session asks a finished child again, and the child's conversation goes on where it ended.

The answer is a session of its own, in a span below the child's: `…/clarify:<turn>.<call>` after the call that asks.
Only the conversation goes on: the child's advisors are not consulted again, and what it says is neither routed nor
handed over. Its tools, its agents and the children that it kept are at hand as before.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.chat_events import ClarificationAnswered, ClarificationAsked, ClarificationRefused
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.sources import joined
from folkmoot.domain.spans import caller, child_span
from folkmoot.domain.spans import conversation as conversation_span
from folkmoot.domain.value import Value
from folkmoot.orchestration.chats import Chat
from folkmoot.orchestration.freeze import release, turns_taken
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.question import read_call
from folkmoot.orchestration.stamp import stamp_of, stamped, unstamped
from folkmoot.ports import Site
from folkmoot.session.conversation import conversation


class _Arguments(Value, rename=None, forbid_unknown_fields=True):
    child_id: str
    question: str


class Clarification(Value, omit_defaults=False):
    """What the session that asked reads."""

    status: str
    content: str
    clarification_id: str
    turns_remaining: int


class Refused(Value, omit_defaults=False):
    """Why a question was not passed on."""

    code: str
    content: str
    status: str = "error"


async def ask_clarification(
    run: Run, inv: Invocation, call: ToolCall, site: Site, start: Start
) -> ToolResult:
    asked = read_call(call, _Arguments)
    if isinstance(asked, ToolResult):
        return asked
    if not asked.question.strip():
        return ToolResult(text="question is empty", failed=True)
    chat = run.chats.find(inv.span, asked.child_id)
    if chat is None:
        return _refused(run, inv, site, asked.child_id, _stranger(run, inv, asked.child_id))
    async with chat.floor:
        again = _taken_up(run, inv, chat, asked.question, site)
        if again.span not in chat.spans and (refusal := _refusal(chat, again)):
            return _refused(run, inv, site, chat.session, refusal)
        return await _answer(run, chat, again, asked.question, start)


async def _answer(run: Run, chat: Chat, again: Invocation, question: str, start: Start) -> ToolResult:
    log, agent = run.log, again.agent
    log.once(again.place, ClarificationAsked(again.session, chat.session, question))
    run.open_budget(chat.spans[0], agent.budget, repr(agent.id))
    outcome = await start(again)
    left = agent.tuning.max_turns - turns_taken(log, [*_earlier(chat, again.span), again.span])
    success = not outcome.failed
    log.once(again.place, ClarificationAnswered(again.session, chat.session, success, left))
    if not chat.live:
        release(log, run.chats, chat.spans[0], f"{agent.id} was destroyed")
    said = Clarification(
        status="answered" if success else "failed",
        content=unstamped(outcome.report.content),
        clarification_id=again.session,
        turns_remaining=left,
    )
    footer = f"\n\n---\n*Clarification `{again.session}` by {agent.id}; turns left: {left}.*"
    footer += stamped(stamp_of(log, again.span), outcome.report.claims)
    read = run.readings.within(again.span)
    return ToolResult(
        text=_json(said), failed=outcome.failed, child=again.session, footer=footer, sources=read
    )


def _taken_up(run: Run, inv: Invocation, chat: Chat, question: str, site: Site) -> Invocation:
    """The child's conversation with the question at its end."""
    span = child_span(chat.spans[0], "clarify", f"{site.turn}.{site.call}")
    earlier = _earlier(chat, span)
    agent = _agent(run, chat)
    child = inv.child(run, agent, "clarify", span)
    if run.behavior > 1:
        read = run.readings.within(chat.spans[0], outside=span)
        child = replace(child, reach=replace(child.reach, taint=joined(child.reach.taint, read)))
    return replace(
        child.asked(f"## CLARIFICATION REQUEST FROM {inv.span}\n\n{question}"),
        before=conversation(agent, map(run.log.of, earlier)),
        turns_before=turns_taken(run.log, earlier),
    )


def _earlier(chat: Chat, span: str) -> list[str]:
    """Where the conversation was held before this span; a resumed clarification is among them already."""
    return chat.spans[: chat.spans.index(span)] if span in chat.spans else [*chat.spans]


def _refusal(chat: Chat, again: Invocation) -> Refused | None:
    if not chat.live:
        return Refused("child_destroyed", f"{chat.session} was destroyed and cannot be asked any more")
    if again.turns_before >= again.agent.tuning.max_turns:
        return Refused("clarification_no_turns", f"{chat.agent} has no turn left (maxTurns) to answer in")
    return None


def _stranger(run: Run, inv: Invocation, named: str) -> Refused:
    """Somebody whom this session may not ask: a finished child without `chat`, or nobody it knows."""
    asker = conversation_span(inv.span)
    ended = run.log.drafts.ended_sessions
    for draft in run.log.drafts:
        match draft.event:
            case SessionStarted(cause="sub" | "advisor", agent=file):
                if caller(draft.span) != asker or draft.session_id not in ended:
                    continue
                agent = run.graph.agents.get(file)  # none for one that its caller made up
                if named in (draft.session_id, draft.agent_id) and not (agent and agent.chat):
                    return Refused(
                        "chat_disabled", f"{draft.agent_id} does not take questions (no `chat: true`)"
                    )
    ids = ", ".join(chat.session for chat in run.chats.held_by(inv.span)) or "nobody"
    return Refused("unknown_child", f"there is no child {named!r} to ask; you can ask {ids}")


def _refused(run: Run, inv: Invocation, site: Site, child: str, refusal: Refused) -> ToolResult:
    event = ClarificationRefused(site.turn, site.call, child, refusal.code, refusal.content)
    run.log.once(inv.place, event)
    return ToolResult(text=_json(refusal), failed=True)


def _agent(run: Run, chat: Chat) -> Agent:
    first = run.log.of(chat.spans[0])
    return next(run.graph.agents[event.agent] for event in first if isinstance(event, SessionStarted))


def _json(value: Value) -> str:
    return msgspec.json.encode(value).decode()
