"""What becomes of a finished agent: kept to be asked again, or let go with everyone it kept."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.chat_events import SessionDestroyed, SessionFrozen
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.orchestration.chats import ASK_CLARIFICATION, Chat, Chats
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.log import Place, RunLog

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
