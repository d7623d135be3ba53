"""Everything that waits for a person, as one list: calls, questions, doubts, plans, tasks, undecided votes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from folkmoot.domain.decision import Decision
from folkmoot.domain.inbox import Item
from folkmoot.domain.message import visible
from folkmoot.domain.plan import Plan
from folkmoot.domain.task import Task
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value

_GLANCE = 80
"""Characters of a headline; what is approved is shown whole."""

AskKind = Literal["approval", "question", "in_doubt", "client_call", "plan", "task", "decision"]
ICONS: dict[AskKind, tuple[str, str]] = {
    "approval": ("hand", ""),
    "question": ("question", "q"),
    "in_doubt": ("doubt", "doubt"),
    "client_call": ("k-tool", ""),
    "plan": ("plan", ""),
    "task": ("tasks", ""),
    "decision": ("decide", ""),
}
"""The icon, and what it is drawn as."""
_PAST = {
    "approve": "approved", "deny": "denied", "revoke": "taken back", "answer": "answered", "done": "settled: done",
    "retry": "settled: again", "fail": "settled: failed", "over": "over before anybody answered",
}  # fmt: skip


class Ask(Value):
    id: str
    kind: AskKind
    title: str
    who: str
    """Who asks, and where."""
    at: str
    tags: tuple[tuple[str, str], ...] = ()
    """What each is drawn as, and its word."""
    past: str = ""
    """What was said to it, and by whom; empty as long as it waits."""
    yes: bool = False
    """Of what is past: whether it was let through."""


def asks(
    items: Iterable[Item], plans: Iterable[Plan], tasks: Iterable[Task], decisions: Iterable[Decision]
) -> list[Ask]:
    """What waits first, the longest-waiting on top; then what is past, the latest first."""
    found = [
        *map(of_item, items),
        *(of_plan(plan) for plan in plans if plan.status != "draft"),
        *(of_task(task) for task in tasks if task.status == "pending_approval"),
        *(of_decision(each) for each in decisions if each.escalated_because),
    ]
    waiting = sorted((ask for ask in found if not ask.past), key=lambda ask: ask.at)
    past = sorted((ask for ask in found if ask.past), key=lambda ask: ask.at, reverse=True)
    return waiting + past


def of_item(item: Item) -> Ask:
    words = {
        "question": "question",
        "approval": tool_name(item.tool),
        "in_doubt": "in doubt",
        "client_call": "tool of its caller",
    }
    form = "wait" if item.kind == "approval" else ""
    form = "fail" if item.kind == "in_doubt" or item.risk == "high" else form
    tags = [(form, words[item.kind])]
    if item.risk:
        tags.append(("fail" if item.risk == "high" else "", f"{item.risk} risk"))
    return Ask(
        item.id, item.kind, title_of(item), f"{item.agent} · turn {item.turn}", item.at, tuple(tags),
        past=past_of(item), yes=item.status in ("approve", "approved", "answer", "answered", "done"),
    )  # fmt: skip


def title_of(item: Item) -> str:
    match item.kind:
        case "question":
            return one_line(visible(item.question))
        case "in_doubt":
            return f"Was {tool_name(item.tool)} done? Its process stopped in the middle of it"
        case _:
            return f"{tool_name(item.tool)} {about(item)}".strip()


def tool_name(wire: str) -> str:
    """As files name it, for a headline; the whole call has the name that is really called."""
    return visible(wire.replace("__", "."))


def about(item: Item) -> str:
    """What a call is about, as far as one of its arguments tells it at a glance."""
    said = (item.arguments.get(name) for name in ("path", "specialist", "url", "to", "mission"))
    return next((one_line(visible(text))[:_GLANCE] for text in said if text and isinstance(text, str)), "")


def past_of(item: Item) -> str:
    if item.is_open:
        return ""
    by = f" by {item.by}" if item.by else ""
    return f"{_PAST.get(item.status, item.status.replace('_', ' '))}{by}" + (
        f": {item.text}" if item.text else ""
    )


def of_plan(plan: Plan) -> Ask:
    decided = "rejected" if plan.status == "rejected" else "approved"
    past = "" if plan.status == "submitted" else f"{decided} by {plan.decided_by or 'nobody'}"
    if plan.reject_reason and past:
        past += f": {plan.reject_reason}"
    at = plan.decided_at or plan.submitted_at or plan.created_at
    title = f"Plan: {one_line(plan.title or plan.goal)}"
    tags = (("wait", "plan"), ("", f"{len(plan.steps)} steps"))
    return Ask(plan.id, "plan", title, plan.author, at, tags, past, yes=plan.status != "rejected")


def of_task(task: Task) -> Ask:
    tags = (("wait", "task"), ("", task.priority))
    title = f"Task: {one_line(task.description)}"
    return Ask(task.id, "task", title, f"{task.agent_id}, asked by {task.created_by}", task.created_at, tags)


def of_decision(decision: Decision) -> Ask:
    why = (decision.escalated_because or "").replace("_", " ")
    title = f"Decision: {one_line(decision.topic)}"
    tags = (("wait", "decision"), ("", why))
    past = f"decided by {decision.committed_by}: {decision.committed_option}" if decision.committed_by else ""
    return Ask(
        decision.id, "decision", title, decision.proposed_by, decision.escalated_at, tags, past, yes=True
    )
