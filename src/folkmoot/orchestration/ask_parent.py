"""`ask_parent`: an agent that was called as a tool asks its caller, which waits for it.

The caller answers in a session of its own, below the span of whoever asks: `…/ask:<turn>.<call>`. Its conversation
goes on there as it stands, every call of its last answer said to be under way, and all it can do is answer. Several
questions are answered side by side, and no answer knows another. The caller's own conversation holds none of them;
what it said stands below the result of its call, from `exchanged`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Output
from folkmoot.domain.call_events import ParentAnswered, ParentAsked, ParentRefused
from folkmoot.domain.errand import Block
from folkmoot.domain.events import ToolFinished, ToolStarted
from folkmoot.domain.gate import Refuse, Standing
from folkmoot.domain.inbox import Item
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDeclined
from folkmoot.domain.message import ToolCall, ToolResult, canonical, visible
from folkmoot.domain.naming import ASK_PARENT
from folkmoot.domain.report import Outcome
from folkmoot.domain.sources import joined, named, untrusted
from folkmoot.domain.spans import child_span
from folkmoot.domain.text import storable
from folkmoot.domain.value import Value
from folkmoot.orchestration.clarify import Refused
from folkmoot.orchestration.invocation import Invocation, Run, Start, enveloped
from folkmoot.orchestration.question import question_of, wrong_arguments
from folkmoot.orchestration.reach import Reach
from folkmoot.ports import Site
from folkmoot.session.conversation import interrupted
from folkmoot.session.gate import judge
from folkmoot.session.state import Brief, State

_SHOWN = 500
"""Characters of a question, or of its answer, that the caller reads again."""


class Exchange(Value, rename=None):
    """A question of a child, and what its caller answered."""

    question: str
    answer: str


async def ask_parent(run: Run, inv: Invocation, call: ToolCall, site: Site, start: Start) -> ToolResult:
    question = storable(question_of(call))
    if not question:
        return ToolResult(text=wrong_arguments(call), failed=True)
    answering = taken_up(run, inv, run.under_way[inv.parent].state, question, site)
    if answering.turns_before >= answering.agent.tuning.max_turns:
        return _refused(run, inv, site, answering.agent)
    run.log.once(answering.place, ParentAsked(answering.session, inv.parent, question))
    outcome = await start(answering)
    success = not outcome.failed
    run.log.once(answering.place, ParentAnswered(answering.session, inv.parent, success))
    if outcome.failed:
        return ToolResult(text=_unanswered(outcome), failed=True, child=answering.session)
    read = run.readings.within(answering.span)
    return ToolResult(text=outcome.report.content, child=answering.session, sources=read)


def exchanged(run: Run, child: Invocation) -> tuple[Exchange, ...]:
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
    return tuple(Exchange(_short(asked[at]), _short(told[at])) for at in sorted(told))


def reminder(exchanges: tuple[Exchange, ...]) -> str:
    """What the caller reads below the result of a child that asked it."""
    lines = "".join(f"\n- {each.question}\n  You answered: {each.answer}" for each in exchanges)
    return f"\n\n---\nMeanwhile it asked you:{lines}" if lines else ""


def taken_up(run: Run, inv: Invocation, parent: State, question: str, site: Site) -> Invocation:
    """The conversation of whoever is asked, with the question at its end. The header stands outside the fence of the
    question, so that no question can pass for another's."""
    agent = _answering(parent.brief)
    answering = inv.child(run, agent, "ask", child_span(inv.span, "ask", f"{site.turn}.{site.call}"))
    asked = enveloped("", (Block("question", question, inv.agent.id),), seed=run.seed, span=answering.span)
    return replace(
        answering.asked(f"## QUESTION FROM {inv.span}\n\n{asked}"),
        before=interrupted(parent),
        turns_before=parent.turn + _asked_before(run, inv, site),
        reach=Reach(only=(), taint=joined(answering.reach.taint, parent.sources) if run.behavior > 1 else ()),
    )


def _answering(brief: Brief) -> Agent:
    """The caller without everything it could do beside answering, and without the form of its own report."""
    tuning = replace(brief.agent.tuning, max_turns=brief.max_turns)
    return replace(
        brief.agent, output=Output(), tuning=tuning, tools=(), agents=(), advisors=(), destinations=()
    )


def _asked_before(run: Run, inv: Invocation, site: Site) -> int:
    """Each question of a child takes one of the turns that its caller had left when it called."""
    asks = (event for event in run.log.of(inv.span) if isinstance(event, ToolStarted))
    here = (site.turn, site.call)
    return sum(event.tool == ASK_PARENT and (event.turn, event.call) < here for event in asks)


def _refused(run: Run, inv: Invocation, site: Site, agent: Agent) -> ToolResult:
    refusal = Refused("parent_no_turns", f"{agent.id} has no turn left (maxTurns) to answer in")
    run.log.once(inv.place, ParentRefused(site.turn, site.call, refusal.code, refusal.content))
    return ToolResult(text=msgspec.json.encode(refusal).decode(), failed=True)


def _unanswered(outcome: Outcome) -> str:
    code = "parent_no_budget" if outcome.stop_reason == "BUDGET_EXCEEDED" else "parent_failed"
    return msgspec.json.encode(Refused(code, outcome.error, status="failed")).decode()


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


_YES = "approve"
_SHOWN_ANSWER = 300
"""Characters of an answer that is no clear yes."""


class SessionInbox(msgspec.Struct, frozen=True):
    """The inbox of a run for one session of it.

    Where the project wants it so, an agent says the word that a call waits for: the one that called, or the lead of the
    team. It answers as to `ask_parent`. It can approve only what it may do itself, and only while it has read nothing
    of others; whatever is not a clear yes goes on to a person.
    """

    run: Run
    inv: Invocation
    start: Start

    def working(self) -> AbstractContextManager[None]:
        return self.run.inbox.working()

    def begin(self) -> None:
        self.run.inbox.begin()

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
        run, by, said = self.run, f"agent {asked.brief.agent.id}", _bar(asked, item)
        if not said:
            site = Site(run.id, item.session, item.span, item.turn, item.call)
            asking = taken_up(run, self.inv, asked, _question(item), site)
            if asking.turns_before >= asking.agent.tuning.max_turns:
                said = "it has no turn left (maxTurns) to answer in"
            else:
                outcome = await self.start(asking)
                said = outcome.error if outcome.failed else outcome.report.content.strip()
        if not run.inbox.items[item.id].is_open:
            return  # a person was quicker
        if said.lower() == _YES:
            run.inbox.happen(item, ApprovalApproved(id=item.id, by=by))
        else:
            run.log.once(self.inv.place, ApprovalDeclined(id=item.id, by=by, reason=said[:_SHOWN_ANSWER]))


def _bar(asked: State, item: Item) -> str:
    """Why an agent cannot approve a call at all."""
    brief = asked.brief
    spec = next((spec for spec in brief.tools if spec.name == item.tool), None)
    if spec is None:
        return "it does not have this tool itself"
    if brief.policy.contains and (read := untrusted(asked.sources)):
        return f"it has read {named(read)}"
    plan = asked.submitted.policy(asked.calls)
    standing = Standing(gated=asked.gated, has_task=bool(asked.task), plan=plan)
    judged = judge(brief.policy, standing, ToolCall("", item.tool, item.arguments), spec)
    return f"it may not make this call itself: {judged.reason}" if isinstance(judged, Refuse) else ""


def _question(item: Item) -> str:
    """The whole call, as a person would see it."""
    why = f"It is asked because {item.why}. " if item.why else ""
    return (
        f"I need your word before I make this call, risk {item.risk}:\n\n"
        f"{visible(canonical(item.tool, item.arguments))}\n\n{visible(why)}"
        f"Answer with the one word {_YES} if it shall be made as it stands here, otherwise say why not."
    )
