"""What waits for a person: items of runs as JSON, lines and commands; and one list of items, plans, tasks and votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from folkmoot.domain.decision import Decision
from folkmoot.domain.inbox import Item
from folkmoot.domain.message import canonical, visible
from folkmoot.domain.plan import Plan
from folkmoot.domain.task import Task
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value
from folkmoot.views.result import Result


def document(item: Item) -> dict[str, Any]:
    """One item as `--json` shows it. `call` is the whole canonical call; whatever could hide is spelled out."""
    return {
        "id": item.id,
        "kind": item.kind,
        "status": item.status,
        "runId": item.run,
        "sessionId": item.session,
        "span": item.span,
        "agentId": item.agent,
        "turn": item.turn,
        "since": item.at,
        "risk": item.risk or None,
        "why": visible(item.why) or None,
        "foreign": list(map(visible, item.foreign)),
        "approvers": list(item.approvers) if item.kind == "approval" else None,
        "until": item.until or None,
        "retryFrom": item.retry_from or None,
        "title": item.preview or None,
        "question": item.question or None,
        "tool": item.tool or None,
        "arguments": item.arguments if item.tool else None,
        "call": whole_call(item) or None,
        "hash": item.hash or None,
        "decidedBy": item.by or None,
        "text": item.text or None,
    }


def whole_call(item: Item) -> str:
    return visible(canonical(item.tool, item.arguments)) if item.tool else ""


def what(item: Item) -> str:
    """What it is about, for a place of one line."""
    return visible(item.question) if item.kind == "question" else whole_call(item)


def how_to_answer(item: Item) -> tuple[str, ...]:
    """The commands that decide it, each as it can be typed now."""
    match item.kind:
        case "question" | "client_call":
            return (f'folkmoot inbox answer {item.id} "…"',)
        case "approval":
            deny = f'folkmoot approvals deny {item.id} --reason "…"'
            return (f"folkmoot approvals approve {item.id}", deny)
        case "in_doubt":
            words = ("done", "fail") if item.retry_from else ("done", "retry", "fail")
            return tuple(f"folkmoot inbox settle {item.id} {word}" for word in words)


def what_it_needs(result: Result) -> Iterator[str]:
    """What a run waits for that is not over, and the command that goes on with it or ends it."""
    if result.status not in ("waiting", "interrupted"):
        return
    for item in result.inbox if result.status == "waiting" else ():
        state = _STATES.get(item.kind, "waits")
        yield f"{item.agent} {state}: {item.id}: {what(item)}"
        if item.retry_from:
            yield f"  it can be made again, with `retry`, from {item.retry_from} on"
        yield from (f"  {command}" for command in how_to_answer(item))
    for paused in (id for id in result.waiting if id.startswith("ws_")):
        yield f"its work session is paused: {paused}"
        yield f"  folkmoot work resume {paused}"
    yield f"to go on: folkmoot runs resume {result.run_id}"


_STATES = {"in_doubt": "may or may not have done this", "client_call": "waits for its caller to do this"}
RISKS = {"fork": "because this run is a fork, and the run it was taken from may have done the same"}


def described(item: Item) -> Iterator[str]:
    """Everything that a person needs to decide; the title is cut, the call is whole."""
    asked = {
        "question": "asks",
        "approval": f"needs your word, {RISKS.get(item.risk, f'risk {item.risk}')}",
        "in_doubt": "may have done this",
        "client_call": "waits for what a tool of its caller gives",
    }
    yield f"\n{item.agent} ({item.span}) {asked[item.kind]}: {item.id}"
    if item.kind == "question":
        yield from (f"  | {visible(line)}" for line in item.question.splitlines())
        return
    yield item.preview
    yield whole_call(item)
    if item.why:
        yield visible(f"asked because {item.why}")
    if item.foreign:
        yield visible(f"these values stand in what was read, not in the request: {', '.join(item.foreign)}")
    if item.until:
        yield f"{'waits' if item.kind == 'client_call' else 'can be approved'} until {item.until}"
    if item.kind == "in_doubt":
        yield "the process ended while this call was under way; only you can say what became of it"
        if item.retry_from:
            yield f"can be made again from {item.retry_from} on"


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
