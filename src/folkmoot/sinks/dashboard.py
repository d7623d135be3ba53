"""The team on one page: a single message in a Discord channel, edited whenever something has changed."""

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
from folkmoot.sinks.embeds import FIELDS, field, message
from folkmoot.sinks.http import Way

_LIGHTS = {"active": "🟢", "idle": "🟡", "interrupted": "🔴"}
_TASK = 80
"""Characters; the rest of a value is for when and why."""
_COLOUR = 0x34495E
_GONE = 404


class Row(Value):
    """One agent of the team."""

    agent: str
    status: Literal["active", "idle", "interrupted"] = "idle"
    task: str = ""
    """What it works on."""
    last_activity: str = ""
    failure: str = ""
    """Why it last failed; empty once it has gone on."""


Rows = Callable[[], Awaitable[Sequence[Row]]]
"""The team as it is now."""


class DashboardSink:
    """What comes in only says that something has changed; what the page shows are `rows`."""

    def __init__(self, url: str, clock: Clock, rows: Rows) -> None:
        self._way = Way(url, clock)
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
        url = self._way.url
        if id:
            try:
                await self._way.send("PATCH", (url / "messages" / id).with_query(url.query), page)
                return id
            except SinkFailed as error:
                if error.status != _GONE:
                    raise
        answer = await self._way.send("POST", url.update_query(wait="true"), page)
        try:
            return msgspec.json.decode(answer, type=_Posted).id
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise SinkFailed(f"{url.host} did not say what the message is called") from None

    async def close(self) -> None:
        await self._way.close()


class _Posted(msgspec.Struct):
    id: str


def board(rows: Sequence[Row]) -> dict[str, Any]:
    """As one card; Discord itself says how long ago something was."""
    shown = rows if len(rows) <= FIELDS else rows[: FIELDS - 1]
    fields = [field(f"{_LIGHTS[row.status]} {row.agent}", _told(row)) for row in shown]
    if left := len(rows) - len(shown):
        fields.append(field("…", f"and {left} more"))
    return {"title": "Team", "color": _COLOUR, "fields": fields}


def _told(row: Row) -> str:
    lines = []
    if row.task:
        lines.append(one_line(row.task, _TASK))
    if row.last_activity:
        lines.append(f"<t:{int(datetime.fromisoformat(row.last_activity).timestamp())}:R>")
    if row.failure:
        lines.append(f"failed: {one_line(row.failure, _TASK)}")
    return "\n".join(lines) or row.status
