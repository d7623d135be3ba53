"""A Discord channel, through the address of its webhook: events as embeds, or the team as one message.

Everything stays within Discord's limits, and calls nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value
from folkmoot.errors import SinkFailed
from folkmoot.ports import Clock
from folkmoot.sinks.http import HttpSink

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


class DiscordSink(HttpSink):
    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        await self._send("POST", self.url, message([embed(entry) for entry in entries]))
        return kept


_LIGHTS = {"active": "🟢", "idle": "🟡", "interrupted": "🔴"}
_TASK = 80
"""Characters; the rest of a value is for when and why."""
_COLOUR = 0x34495E
_GONE = 404


class TeamRow(Value):
    """One agent of the team."""

    agent: str
    status: Literal["active", "idle", "interrupted"] = "idle"
    task: str = ""
    """What it works on."""
    last_activity: str = ""
    failure: str = ""
    """Why it last failed; empty once it has gone on."""


Rows = Callable[[], Awaitable[Sequence[TeamRow]]]
"""The team as it is now."""


class DashboardSink(HttpSink):
    """What comes in only says that something has changed; what the page shows are `rows`."""

    def __init__(self, url: str, clock: Clock, rows: Rows) -> None:
        super().__init__(url, clock)
        self._rows = rows
        self._shown = b""

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        """`kept` is the id of the message."""
        page = message([board(await self._rows())])
        if page != self._shown:
            kept = await self._show(page, kept)
            self._shown = page
        return kept

    async def _show(self, page: bytes, id: str) -> str:
        url = self.url
        if id:
            try:
                await self._send("PATCH", (url / "messages" / id).with_query(url.query), page)
                return id
            except SinkFailed as error:
                if error.status != _GONE:
                    raise
        answer = await self._send("POST", url.update_query(wait="true"), page)
        try:
            return msgspec.json.decode(answer, type=_Posted).id
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise SinkFailed(f"{url.host} did not say what the message is called") from None


class _Posted(msgspec.Struct):
    id: str


def board(rows: Sequence[TeamRow]) -> dict[str, Any]:
    """As one card; Discord itself says how long ago something was."""
    shown = rows if len(rows) <= FIELDS else rows[: FIELDS - 1]
    fields = [field(f"{_LIGHTS[row.status]} {row.agent}", _told(row)) for row in shown]
    if left := len(rows) - len(shown):
        fields.append(field("…", f"and {left} more"))
    return {"title": "Team", "color": _COLOUR, "fields": fields}


def _told(row: TeamRow) -> str:
    lines = []
    if row.task:
        lines.append(one_line(row.task, _TASK))
    if row.last_activity:
        lines.append(f"<t:{int(datetime.fromisoformat(row.last_activity).timestamp())}:R>")
    if row.failure:
        lines.append(f"failed: {one_line(row.failure, _TASK)}")
    return "\n".join(lines) or row.status
