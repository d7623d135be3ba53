"""The inbox on a screen: one row for each thing that waits, or waited, for someone."""

from __future__ import annotations

from typing import Any

from folkmoot.domain.canonical import canonical, visible
from folkmoot.domain.item import Item


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
        "approvers": list(item.approvers) if item.kind == "approval" else None,
        "until": item.until or None,
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


def how_to_answer(item: Item) -> str:
    """The commands that decide it."""
    match item.kind:
        case "question":
            return f'folkmoot inbox answer {item.id} "…"'
        case "approval":
            return f"folkmoot approvals approve {item.id}, or deny {item.id} --reason …"
        case "in_doubt":
            return f"folkmoot inbox settle {item.id} done|retry|fail"
