"""Agents ask each other about their work. Each answer is a session of its own, in which a conversation goes on.

`ask_parent`: an agent that was called as a tool asks its caller, which waits for it. The caller answers below the span
of whoever asks: `…/ask:<turn>.<call>`. Its conversation goes on there as it stands, every call of its last answer said
to be under way, and all it can do is answer. Several questions are answered side by side, and no answer knows another.
The caller's own conversation holds none of them; what it said stands below the result of its call, from `exchanged`.

`agent__ask_clarification`: a session asks a finished child again, below the child's span: `…/clarify:<turn>.<call>`.
Only the conversation goes on: the child's advisors are not consulted again, and what it says is neither routed nor
handed over. Its tools, its agents and the children that it kept are at hand as before. Who is not kept for that is let
go, with everyone it kept.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Output
from folkmoot.domain.call_events import (
    ClarificationAnswered,
    ClarificationAsked,
    ClarificationRefused,
    ParentAnswered,
    ParentAsked,
    ParentRefused,
    SessionDestroyed,
    SessionFrozen,
)
from folkmoot.domain.errand import Block
from folkmoot.domain.events import LlmRequest, SessionStarted, ToolFinished, ToolStarted
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.naming import ASK_PARENT
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.domain.sources import joined
from folkmoot.domain.spans import caller, child_span
from folkmoot.domain.spans import conversation as conversation_span
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse
from folkmoot.orchestration.history import FollowUpSession, FollowUpSessions
from folkmoot.orchestration.invocation import Invocation, Run, wrap_request
from folkmoot.orchestration.kit import InheritedLimits
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.runtime_tools import (
    ASK_CLARIFICATION,
    ClarificationRequest,
    read_arguments,
    read_question,
)
from folkmoot.orchestration.stamp import escape_runtime_marks, render_work_summary, summarize_work
from folkmoot.ports import Site
from folkmoot.session.record import conversation, interrupted
from folkmoot.session.state import State

By = Literal["run", "user"]
_SHOWN = 500
"""Characters of a question, or of its answer, that the caller reads again."""


class ParentExchange(Value, rename=None):
    """A question of a child, and what its caller answered."""

    question: str
    answer: str


class QuestionRefused(Value, omit_defaults=False):
    """Why a question was not passed on, or has no answer."""

    code: str
    content: str
    status: str = "error"

    def result(self, child: str = "") -> ToolResult:
        return ToolResult(text=msgspec.json.encode(self).decode(), failed=True, child=child)


def count_turns(log: RunLog, *spans: str) -> int:
    """Turns are counted on from span to span of a conversation."""
    turns = (event.turn for span in spans for event in log.of(span) if isinstance(event, LlmRequest))
    return max(turns, default=0)


async def ask_parent(run: Run, inv: Invocation, call: ToolCall, site: Site) -> ToolResult:
    question = read_question(call)
    answering = build_parent_question(run, inv, run.under_way[inv.parent].state, question, site)
    session, place = answering.session, answering.place
    if answering.turns_before >= answering.agent.tuning.max_turns:
        content = f"{answering.agent.id} has no turn left (maxTurns) to answer in"
        refusal = QuestionRefused("parent_no_turns", content)
        run.log.once(inv.place, ParentRefused(site.turn, site.call, refusal.code, content))
        return refusal.result()
    run.log.once(place, ParentAsked(session, inv.parent, question))
    outcome = await run.start(answering)
    run.log.once(place, ParentAnswered(session, inv.parent, not outcome.failed))
    if outcome.failed:
        code = "parent_no_budget" if outcome.stop_reason == "BUDGET_EXCEEDED" else "parent_failed"
        return QuestionRefused(code, outcome.error, status="failed").result(session)
    read = run.readings.within(answering.span)
    return ToolResult(text=outcome.report.content, child=session, sources=read)


def build_parent_question(run: Run, inv: Invocation, above: State, question: str, site: Site) -> Invocation:
    """The conversation of whoever is asked, with the question at its end. The header stands outside the fence of the
    question, so that no question can pass for another's.

    Whoever answers has nothing it could do beside answering, and not the form of its own report. Each question of a
    child takes one of the turns that its caller had left when it called.
    """
    tuning = replace(above.brief.agent.tuning, max_turns=above.brief.max_turns)
    bare = replace(above.brief.agent, output=Output(), tuning=tuning, tools=(), agents=(), advisors=())
    agent = replace(bare, destinations=())
    answering = inv.child(run, agent, "ask", child_span(inv.span, "ask", f"{site.turn}.{site.call}"))
    asked = wrap_request("", (Block("question", question, inv.agent.id),), seed=run.seed, span=answering.span)
    here = (site.turn, site.call)
    started = (event for event in run.log.of(inv.span) if isinstance(event, ToolStarted))
    asked_before = sum(each.tool == ASK_PARENT and (each.turn, each.call) < here for each in started)
    taint = joined(answering.reach.taint, above.sources) if run.behavior > 1 else ()
    return replace(
        answering.asked(f"## QUESTION FROM {inv.span}\n\n{asked}"),
        before=interrupted(above),
        turns_before=above.turn + asked_before,
        reach=InheritedLimits(only=(), taint=taint),
    )


def list_parent_exchanges(run: Run, child: Invocation) -> tuple[ParentExchange, ...]:
    """What a child asked its caller and was told, in the order of its calls."""
    if ASK_PARENT not in child.agent.tools:
        return ()
    asked: dict[tuple[int, int], str] = {}
    told: dict[tuple[int, int], str] = {}
    for event in run.log.of(child.span):
        match event:
            case ToolStarted(tool=tool) if tool == ASK_PARENT:
                asked[event.turn, event.call] = str(event.arguments.get("question"))
            case ToolFinished(tool=tool) if tool == ASK_PARENT:
                told[event.turn, event.call] = event.text
    return tuple(ParentExchange(_shorten_text(asked[at]), _shorten_text(told[at])) for at in sorted(told))


def render_reminder(exchanges: tuple[ParentExchange, ...]) -> str:
    """What the caller reads below the result of a child that asked it."""
    lines = "".join(f"\n- {each.question}\n  You answered: {each.answer}" for each in exchanges)
    return f"\n\n---\nMeanwhile it asked you:{lines}" if lines else ""


def _shorten_text(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def freeze_or_close_session(run: Run, inv: Invocation, own: Outcome, outcome: Outcome) -> None:
    """Only a session that gave a report of its own, to somebody who can ask back, has something to clarify.

    `own` is how the agent's session ended, `outcome` how the chain behind it did. A kept agent keeps its own
    children too, because it may need them for its answer. A team, or an agent that works by a plan, has no one
    conversation to go on with.
    """
    reported = own.exit == FINAL_REPORT and not outcome.failed and not inv.agent.in_parts
    if inv.agent.chat and inv.cause in ("sub", "advisor") and reported:
        left = inv.agent.tuning.max_turns - count_turns(run.log, inv.span)
        run.log.once(inv.place, SessionFrozen(inv.session, inv.agent.id, inv.parent, left))
    else:
        close_follow_up_sessions(run.log, run.chats, inv.span, f"{inv.agent.id} has ended")


def close_follow_up_sessions(
    log: RunLog, chats: FollowUpSessions, span: str, reason: str, *, by: By = "run"
) -> None:
    """Let go of everyone whom the agent at this span may ask, and its team if it is one."""
    for chat in chats.held_in(span):
        close_follow_up_session(log, chats, chat, reason, by=by)


def close_follow_up_session(
    log: RunLog, chats: FollowUpSessions, chat: FollowUpSession, reason: str, *, by: By
) -> None:
    """Those whom it kept itself go first."""
    close_follow_up_sessions(log, chats, chat.spans[0], reason, by=by)
    place = Place(span=chat.spans[0], session=chat.session, agent=chat.agent)
    log.note(place, SessionDestroyed(session=chat.session, reason=reason, by=by))


def render_follow_up_hint(run: Run, session: str) -> str:
    """What the caller reads below an answer about whom it may ask back; nothing if the agent was not kept."""
    chat = run.chats.get(session)
    if chat is None:
        return ""
    return (
        f"\n\n---\n*{chat.agent} can be asked about this: `{ASK_CLARIFICATION}` with `child_id` `{chat.session}`; "
        f"turns left: {chat.turns_after_report}.*"
    )


async def ask_clarification(run: Run, inv: Invocation, call: ToolCall, site: Site) -> ToolResult:
    asked = read_arguments(call.arguments, ClarificationRequest)
    if not asked.question.strip():
        raise WrongUse("question is empty")
    chat = run.chats.find(inv.span, asked.child_id)
    if chat is None:
        return _record_refusal(
            run, inv, site, asked.child_id, _refuse_unknown_child(run, inv, asked.child_id)
        )
    async with chat.floor:
        again = _resume_conversation(run, inv, chat, asked.question, site)
        if again.span not in chat.spans and (refusal := _find_refusal(chat, again)):
            return _record_refusal(run, inv, site, chat.session, refusal)
        return await _answer_clarification(run, chat, again, asked.question)


async def _answer_clarification(
    run: Run, chat: FollowUpSession, again: Invocation, question: str
) -> ToolResult:
    log, agent, session = run.log, again.agent, again.session
    log.once(again.place, ClarificationAsked(session, chat.session, question))
    run.open_budget(chat.spans[0], agent.budget, repr(agent.id))
    outcome = await run.start(again)
    left = agent.tuning.max_turns - count_turns(log, *_find_earlier_spans(chat, again.span), again.span)
    log.once(again.place, ClarificationAnswered(session, chat.session, not outcome.failed, left))
    if not chat.live:
        close_follow_up_sessions(log, run.chats, chat.spans[0], f"{agent.id} was destroyed")
    said = {
        "status": "failed" if outcome.failed else "answered",
        "content": escape_runtime_marks(outcome.report.content),
        "clarificationId": session,
        "turnsRemaining": left,
    }
    below = f"\n\n---\n*Clarification `{session}` by {agent.id}; turns left: {left}.*"
    below += render_work_summary(summarize_work(log, again.span), outcome.report.claims)
    text, read = msgspec.json.encode(said).decode(), run.readings.within(again.span)
    return ToolResult(text=text, failed=outcome.failed, child=session, footer=below, sources=read)


def _resume_conversation(
    run: Run, inv: Invocation, chat: FollowUpSession, question: str, site: Site
) -> Invocation:
    """The child's conversation with the question at its end."""
    span = child_span(chat.spans[0], "clarify", f"{site.turn}.{site.call}")
    earlier = _find_earlier_spans(chat, span)
    begun = next(event for event in run.log.of(chat.spans[0]) if isinstance(event, SessionStarted))
    agent = run.graph.agents[begun.agent]
    child = inv.child(run, agent, "clarify", span)
    if run.behavior > 1:
        read = run.readings.within(chat.spans[0], outside=span)
        child = replace(child, reach=replace(child.reach, taint=joined(child.reach.taint, read)))
    return replace(
        child.asked(f"## CLARIFICATION REQUEST FROM {inv.span}\n\n{question}"),
        before=conversation(agent, map(run.log.of, earlier)),
        turns_before=count_turns(run.log, *earlier),
    )


def _find_earlier_spans(chat: FollowUpSession, span: str) -> list[str]:
    """Where the conversation was held before this span; a resumed clarification is among them already."""
    return chat.spans[: chat.spans.index(span)] if span in chat.spans else [*chat.spans]


def _find_refusal(chat: FollowUpSession, again: Invocation) -> QuestionRefused | None:
    if not chat.live:
        return QuestionRefused(
            "child_destroyed", f"{chat.session} was destroyed and cannot be asked any more"
        )
    if again.turns_before >= again.agent.tuning.max_turns:
        content = f"{chat.agent} has no turn left (maxTurns) to answer in"
        return QuestionRefused("clarification_no_turns", content)
    return None


def _refuse_unknown_child(run: Run, inv: Invocation, named: str) -> QuestionRefused:
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
                    content = f"{draft.agent_id} does not take questions (no `chat: true`)"
                    return QuestionRefused("chat_disabled", content)
    ids = ", ".join(chat.session for chat in run.chats.held_by(inv.span)) or "nobody"
    return QuestionRefused("unknown_child", f"there is no child {named!r} to ask; you can ask {ids}")


def _record_refusal(
    run: Run, inv: Invocation, site: Site, child: str, refusal: QuestionRefused
) -> ToolResult:
    event = ClarificationRefused(site.turn, site.call, child, refusal.code, refusal.content)
    run.log.once(inv.place, event)
    return refusal.result()
