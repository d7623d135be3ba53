"""Clarification: a session asks a finished child again, and the child's conversation goes on where it ended. Who is not
kept for that is let go, with everyone it kept.

The answer is a session of its own, in a span below the child's: `…/clarify:<turn>.<call>` after the call that asks.
Only the conversation goes on: the child's advisors are not consulted again, and what it says is neither routed nor
handed over. Its tools, its agents and the children that it kept are at hand as before.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.call_events import (
    ClarificationAnswered,
    ClarificationAsked,
    ClarificationRefused,
    SessionDestroyed,
    SessionFrozen,
)
from folkmoot.domain.events import LlmRequest, SessionStarted
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.domain.sources import joined
from folkmoot.domain.spans import caller, child_span
from folkmoot.domain.spans import conversation as conversation_span
from folkmoot.domain.value import Value
from folkmoot.orchestration.chats import ASK_CLARIFICATION, Chat, Chats
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.question import read_call
from folkmoot.orchestration.stamp import stamp_of, stamped, unstamped
from folkmoot.ports import Site
from folkmoot.session.conversation import conversation

By = Literal["run", "user"]


def freeze_or_release(run: Run, inv: Invocation, own: Outcome, outcome: Outcome) -> None:
    """Only a session that gave a report of its own, to somebody who can ask back, has something to clarify.

    `own` is how the agent's session ended, `outcome` how the chain behind it did. A kept agent keeps its own
    children too, because it may need them for its answer. A team, or an agent that works by a plan, has no one
    conversation to go on with.
    """
    reported = own.exit == FINAL_REPORT and not outcome.failed and not inv.agent.in_parts
    if inv.agent.chat and inv.cause in ("sub", "advisor") and reported:
        left = inv.agent.tuning.max_turns - turns_taken(run.log, [inv.span])
        event = SessionFrozen(
            session=inv.session, agent=inv.agent.id, parent=inv.parent, turns_remaining=left
        )
        run.log.once(inv.place, event)
    else:
        release(run.log, run.chats, inv.span, f"{inv.agent.id} has ended")


def release(log: RunLog, chats: Chats, span: str, reason: str, *, by: By = "run") -> None:
    """Let go of everyone whom the agent at this span may ask, and its team if it is one."""
    for chat in chats.held_in(span):
        destroy(log, chats, chat, reason, by=by)


def destroy(log: RunLog, chats: Chats, chat: Chat, reason: str, *, by: By) -> None:
    """Those whom it kept itself go first."""
    release(log, chats, chat.spans[0], reason, by=by)
    place = Place(span=chat.spans[0], session=chat.session, agent=chat.agent)
    log.note(place, SessionDestroyed(session=chat.session, reason=reason, by=by))


def turns_taken(log: RunLog, spans: list[str]) -> int:
    """Turns are counted on from span to span of a conversation."""
    turns = (event.turn for span in spans for event in log.of(span) if isinstance(event, LlmRequest))
    return max(turns, default=0)


def footer(chats: Chats, session: str) -> str:
    """What the caller reads below an answer about whom it may ask back; nothing if the agent was not kept."""
    chat = chats.get(session)
    if chat is None:
        return ""
    return (
        f"\n\n---\n*{chat.agent} can be asked about this: `{ASK_CLARIFICATION}` with `child_id` `{chat.session}`; "
        f"turns left: {chat.turns_after_report}.*"
    )


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
