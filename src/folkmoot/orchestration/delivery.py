"""One message from agent to agent: guarded, read by the receiver in a session of its own, and answered once.

The receiver is called like every other agent (`AgentCaller`), so that budgets, recovery and accounting hold for it.
Writing again in the same conversation goes on with what was said there. What decides is the names of spans, never who
was quicker: a message knows the answers of earlier turns, and nothing of those that are sent beside it.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from msgspec.structs import asdict, replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.errand import Block
from folkmoot.domain.message import ToolResult
from folkmoot.domain.sources import Source, joined
from folkmoot.domain.spans import in_order, precedes
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
from folkmoot.domain.value import Value
from folkmoot.errors import OperationFailed
from folkmoot.orchestration.a2a_tools import name_in
from folkmoot.orchestration.invocation import Invocation, Run, enveloped
from folkmoot.orchestration.log import Place
from folkmoot.orchestration.other_runs import LoopGuard, Sent
from folkmoot.orchestration.spawn import AgentCaller, reach_of_called
from folkmoot.session.conversation import conversation
from folkmoot.session.steps import Parked


class Letter(Value):
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


async def deliver(caller: AgentCaller, letter: Letter) -> ToolResult:
    """The answer, or why there is none."""
    run, inv = caller.run, caller.inv
    held = _held_before(run, inv, letter)
    child = inv.child(run, letter.to, "sub", letter.span)
    exchange = _exchange(run, inv, letter, child.session, turn=len(held) + 1)
    child = _reading(run, inv, letter, exchange, held, child)
    if objection := await _objection(run, inv, letter, exchange):
        return ToolResult(text=f"not delivered: {objection}", failed=True)
    said = A2aSpawn if letter.spawns else A2aSend
    sender = replace(inv.place, conversation=letter.conversation)
    run.log.once(sender, said(**asdict(exchange), message=_preview(letter.text)))
    try:
        result = await _answer(caller, child)
    except asyncio.CancelledError:
        _close(run, sender, child, exchange, ToolResult("the run was cancelled", failed=True))
        raise
    _close(run, sender, child, exchange, result)
    told = f"\n[runtime: conversation {letter.conversation}, turn {exchange.turn}]"
    return result if result.failed else replace(result, footer=result.footer + told)


async def _answer(caller: AgentCaller, child: Invocation) -> ToolResult:
    try:
        return await caller.result(child)
    except (Parked, OperationFailed):
        raise
    except Exception as error:  # what breaks one receiver must not take the answers of others along
        return caller.refused(child, f"{type(error).__name__}: {error}", type(error).__name__)


def _close(run: Run, sender: Place, child: Invocation, exchange: Exchange, result: ToolResult) -> None:
    """Exactly once, however often the answer arrives: a resumed run finds what was noted."""
    common, spawned = asdict(exchange), not exchange.hop
    said = "" if result.failed else _preview(result.text)
    error = result.text if result.failed else ""
    outcome: Literal["replied", "blocked"] = "blocked" if result.failed else "replied"
    response = A2aResponse(
        **common, outcome=outcome, reply_preview=said, error=_preview(error), announced=spawned
    )
    run.log.once(child.place, response)
    complete = A2aComplete(**common, total_turns=exchange.turn, reply_preview=said, announced=spawned)
    run.log.once(sender, complete)
    if spawned:
        status: Literal["ok", "error"] = "error" if result.failed else "ok"
        run.log.once(sender, A2aSpawnResult(**common, status=status, error=_preview(error)))


async def _objection(run: Run, inv: Invocation, letter: Letter, exchange: Exchange) -> str:
    """What the loop guard says to it; what it said before a crash holds."""
    span, settings = letter.span, run.graph.settings
    for event in run.log.of(inv.span):
        match event:
            case A2aSend(target_session_key=key) | A2aSpawn(target_session_key=key):
                if key == exchange.target_session_key:
                    return ""
            case GuardLoopBlocked(span=blocked, reason=reason) if blocked == span:
                return reason
    guard = LoopGuard(hops=settings.limits.a2a_hops)
    message = Sent(exchange.from_agent, exchange.to_agent, run.traffic.now(), exchange.hop)
    if exchange.hop:
        reason = await run.traffic.objection(guard, message, span, run.log)
    else:
        reason = guard.objection(message)  # delegation has limits of its own
    if reason:
        refused = GuardLoopBlocked(
            span, message.sender, message.receiver, reason, exchange.conversation_id, exchange.hop
        )
        if settings.messages.keep_dropped:
            refused = replace(refused, message=letter.text)
        run.log.once(inv.place, refused)
    return reason


def _exchange(run: Run, inv: Invocation, letter: Letter, session: str, turn: int) -> Exchange:
    thread, sender = inv.thread, name_in(run.graph, inv.agent)
    parent = thread.conversation if thread.conversation != letter.conversation else ""
    main = thread.main and not letter.spawns
    return Exchange(
        from_agent=sender,
        to_agent=letter.name,
        conversation_id=letter.conversation,
        target_session_key=session,
        run_id=run.id,
        work_session_id=run.log.work_session,
        parent_conversation_id=parent,
        task_id=run.errand.task,
        channel=letter.channel,
        label=letter.label,
        origin=thread.origin or sender,
        turn=turn,
        hop=0 if letter.spawns else thread.hops + 1,
        depth=0 if main else inv.session.count(":") + 1,
        main=main,
    )


def _reading(
    run: Run, inv: Invocation, letter: Letter, exchange: Exchange, held: list[str], child: Invocation
) -> Invocation:
    """The agent with the message at the end of what was said before: it has read what its sender has read."""
    reach = reach_of_called(run, child) if letter.spawns else child.reach
    taint = joined(reach.taint, run.readings.within(*held))
    if run.behavior == 1 and not letter.spawns:
        taint = reach.taint or (Source(f"what {exchange.from_agent} wrote"),)
    on = bool(held) and not letter.to.in_parts
    text = _worded(run, inv, letter, exchange, _dropped(run, letter, held))
    return replace(
        child.asked(text, letter.label or letter.text.strip().partition("\n")[0][:80]),
        before=conversation(letter.to, map(run.log.of, held)) if on else (),
        reach=replace(reach, taint=taint),
        thread=Thread(
            letter.conversation, exchange.origin, exchange.hop or inv.thread.hops, main=exchange.main
        ),
    )


def _dropped(run: Run, letter: Letter, held: list[str]) -> list[Block]:
    """What others wrote to the receiver in this conversation since it last answered there, and was not delivered."""
    return [
        Block("dropped", event.message, event.from_agent)
        for draft in run.log.drafts
        if isinstance(event := draft.event, GuardLoopBlocked)
        and (event.to_agent, event.conversation_id) == (letter.name, letter.conversation)
        and event.message
        and event.from_agent != event.to_agent
        and precedes(event.span, letter.span)
        and not any(precedes(event.span, answered) for answered in held)
    ]


def _worded(run: Run, inv: Invocation, letter: Letter, exchange: Exchange, dropped: list[Block]) -> str:
    """Who writes to whom stands outside the fence of the text, so that no text can pass for another's."""
    headers = {
        "From": exchange.from_agent,
        "To": exchange.to_agent,
        "Origin": exchange.origin if exchange.origin != exchange.from_agent else "",
        "Conversation": f"{exchange.conversation_id}, turn {exchange.turn}",
    }
    lines = "\n".join(f"{name}: {value}" for name, value in headers.items() if value)
    blocks = (*dropped, Block("message", letter.text, inv.agent.id))
    return f"{lines}\n\n{enveloped('', blocks, seed=run.seed, span=letter.span)}"


def _held_before(run: Run, inv: Invocation, letter: Letter) -> list[str]:
    """The spans in which the receiver answered the sender in this conversation before."""
    pair = (name_in(run.graph, inv.agent), letter.name, letter.conversation)
    answered = {
        draft.span
        for draft in run.log.drafts
        if isinstance(event := draft.event, A2aResponse)
        and event.outcome == "replied"
        and (event.from_agent, event.to_agent, event.conversation_id) == pair
        and precedes(draft.span, letter.span)
    }
    return sorted(answered, key=in_order)


def _preview(text: str) -> str:
    return text if len(text) <= PREVIEW else f"{text[: PREVIEW - 1]}…"
