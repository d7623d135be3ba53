"""The inbox on a screen: one row for each thing that waits, or waited, for someone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from folkmoot.domain.inbox import Item
from folkmoot.domain.message import canonical, visible
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
