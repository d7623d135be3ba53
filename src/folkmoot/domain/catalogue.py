"""Every event by the type under which it is stored, and the artifacts that events name."""

from __future__ import annotations

import re
from functools import cache

from folkmoot.domain import (
    call_events,
    decision,
    events,
    evidence,
    inbox_events,
    plan,
    records,
    sinks,
    task,
    team_events,
    work_session,
)
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Errand
from folkmoot.domain.part import Part

_MODULES = (
    events, call_events, team_events, inbox_events, evidence, task, plan, decision, work_session, records, sinks
)  # fmt: skip

EVENTS: dict[str, type[Event]] = {
    event.type: event
    for module in _MODULES
    for event in vars(module).values()
    if isinstance(event, type) and issubclass(event, Event) and event.type
}


_FIELDS = ("graph", "tools", "artifact", "artifact_ids", "parts", "errand")
"""How events call what they name by its hash."""
MENTIONED = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
"""Whatever may be the hash of an artifact in the text of an entry; more than `named_by` finds, never less."""


def named_by(event: Event) -> tuple[str, ...]:
    if not (fields := _fields(type(event))):
        return ()
    named: list[str] = []
    for field in fields:
        match getattr(event, field):
            case str() as id:
                named.append(id)
            case Errand(attachments=parts):
                named += (part.artifact for part in parts)
            case several:
                named += (each.artifact if isinstance(each, Part) else each for each in several)
    return tuple(id for id in named if id)


@cache
def _fields(event: type[Event]) -> tuple[str, ...]:
    return tuple(field for field in event.__struct_fields__ if field in _FIELDS)
