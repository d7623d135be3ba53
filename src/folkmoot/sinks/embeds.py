"""Events as Discord shows them: a coloured card each, within its limits, calling nobody. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.entry import Entry

FIELDS = 25
VALUE = 256
"""Characters."""
_CARD = 600
"""Characters of a card: ten of them are the most that one message may hold."""

_COLOURS = {
    "task": 0x3498DB, "step": 0x3498DB, "plan": 0x9B59B6, "decision": 0x8E44AD, "snapshot": 0x7F8C8D,
    "a2a": 0x1ABC9C, "handoff": 0xE67E22, "router": 0xE67E22, "sub_agent": 0x16A085, "advisor": 0x16A085,
    "team": 0x2ECC71, "roster": 0x2ECC71, "work_session": 0x2C3E50, "continuation": 0xF1C40F,
    "unblock": 0xF39C12, "resume_reminder": 0xF39C12, "backlog": 0x95A5A6, "zombie": 0xC0392B,
    "run": 0x34495E, "session": 0x34495E, "tool": 0x546E7A, "llm": 0x546E7A, "approval": 0xF1C40F,
}  # fmt: skip
"""By family: what stands before the dot."""
_TROUBLE = 0xE74C3C
_OTHER = 0x95A5A6
_DULL = ("seed", "graph", "tools")
"""Data that say nothing to people."""
_WRONG = ("failed", "rejected", "denied", "error", "blocked", "exceeded", "abandoned", "refused")


def message(embeds: list[dict[str, Any]]) -> bytes:
    """What is sent. Discord itself is told to call nobody."""
    return msgspec.json.encode({"embeds": embeds, "allowed_mentions": {"parse": []}})


def embed(entry: Entry) -> dict[str, Any]:
    """Ends with the entry's id, by which a card that comes twice is known."""
    draft = entry.draft
    card: dict[str, Any] = {
        "title": draft.event.type,
        "color": colour(draft.event.type),
        "timestamp": draft.ts,
        "footer": {"text": f"{entry.seq} · {entry.id}"},
        "fields": [],
    }
    data: dict[str, Any] = msgspec.to_builtins(draft.event)
    told = {"agentId": draft.agent_id, "runId": entry.stream, "workSessionId": draft.work_session_id, **data}
    left = _CARD - len(card["title"]) - len(card["footer"]["text"])
    for name, value in told.items():
        if name in _DULL:
            continue
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        each = field(name, text)
        left -= len(each["name"]) + len(each["value"])
        if left < 0 or len(card["fields"]) == FIELDS:
            break
        if text.strip():  # an empty one is refused
            card["fields"].append({**each, "inline": len(text) < 40})
    return card


def field(name: str, text: str) -> dict[str, Any]:
    """Cut to what Discord takes."""
    return {"name": cut(name), "value": cut(text)}


def cut(text: str) -> str:
    quiet = text.replace("@", "@\u200b")  # so that neither @everyone nor <@1234> is one
    return quiet if len(quiet) <= VALUE else quiet[: VALUE - 1] + "…"


def colour(type: str) -> int:
    if type.endswith(_WRONG):
        return _TROUBLE
    return _COLOURS.get(type.partition(".")[0], _OTHER)
