"""The finished sessions that are kept to be asked: shown, and let go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from folkmoot.cli.output import say, write_json, write_table
from folkmoot.cli.records import opened
from folkmoot.domain.entry import Draft
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import CloseSession
from folkmoot.engine.local import LocalEngine
from folkmoot.views.live import live_children


def write_live(drafts: Iterable[Draft], *, as_json: bool) -> None:
    children = live_children(drafts)
    if as_json:
        write_json(children)
    elif not children:
        say("no finished session of this run can be asked")
    else:
        head = ("agent", "turns left", "asked", "session")
        rows = (
            (child.agent_id, str(child.turns_remaining), str(child.clarifications), child.id)
            for child in children
        )
        write_table(head, rows)


async def let_go(folder: Path, session: str, reason: str) -> None:
    async with opened(folder, readonly=False) as journal:
        await LocalEngine(journal, SystemClock()).send(session, CloseSession(session, reason))
