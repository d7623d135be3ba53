"""Who says the word that a call waits for: where the project wants it so, an agent comes first.

That is the one that called, or the lead of the team. It answers as to `ask_parent`, in a session below the span of
whoever asks. It can approve only what it may do itself, and only while it has read nothing of others; whatever is not a
clear yes goes on to a person.
"""

from __future__ import annotations

from folkmoot.domain.canonical import canonical, visible
from folkmoot.domain.gate import Refuse, Standing
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDeclined
from folkmoot.domain.item import Item
from folkmoot.domain.message import ToolCall
from folkmoot.domain.sources import named, untrusted
from folkmoot.orchestration.ask_parent import taken_up
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.ports import Site
from folkmoot.session.gate import judge
from folkmoot.session.state import State

_YES = "approve"
_SHOWN = 300
"""Characters of an answer that is no clear yes."""


async def decided(run: Run, inv: Invocation, start: Start, id: str) -> None:
    """Return when somebody said something to an item of this session's, or raise `Parked`."""
    item = run.inbox.items[id]
    if item.kind == "approval" and item.is_open and item.approvers[0] == "parent":
        await _ask(run, inv, start, item, run.under_way[inv.parent].state)
    elif item.kind == "approval" and item.is_open and item.approvers[0] == "lead":
        await _ask(run, inv, start, item, run.leads[inv.parent]())
    else:
        await run.inbox.answered(id)


async def _ask(run: Run, inv: Invocation, start: Start, item: Item, asked: State) -> None:
    by, said = f"agent {asked.brief.agent.id}", _bar(asked, item)
    if not said:
        site = Site(run.id, item.session, item.span, item.turn, item.call)
        asking = taken_up(run, inv, asked, _question(item), site)
        if asking.turns_before >= asking.agent.tuning.max_turns:
            said = "it has no turn left (maxTurns) to answer in"
        else:
            outcome = await start(asking)
            said = outcome.error if outcome.failed else outcome.report.content.strip()
    if not run.inbox.items[item.id].is_open:
        return  # a person was quicker
    if said.lower() == _YES:
        run.inbox.happen(item, ApprovalApproved(id=item.id, by=by))
    else:
        run.log.once(inv.place, ApprovalDeclined(id=item.id, by=by, reason=said[:_SHOWN]))


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
