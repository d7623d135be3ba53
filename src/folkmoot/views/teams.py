"""What was said in the teams of a run, in the order in which everybody reads it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from folkmoot.domain.entry import Draft
from folkmoot.domain.spans import without_cycle
from folkmoot.domain.team_events import TeamBroadcast, TeamStarted


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """One broadcast, with when it was made."""

    order: int
    member_id: str
    type: str
    message: str
    turn_count: int
    timestamp: str
    terminal: bool
    outcome: str


class TeamTranscript(msgspec.Struct, rename="camel"):
    span: str
    """Where in the run the team worked."""
    lead: str
    members: list[str]
    broadcasts: list[Said] = []


def team_transcripts(drafts: Iterable[Draft]) -> list[TeamTranscript]:
    teams: dict[str, TeamTranscript] = {}
    for draft in drafts:
        match draft.event:
            case TeamStarted(lead=lead, members=members):
                span = without_cycle(draft.span)  # a team within a team begins anew in each of its parts
                teams.setdefault(span, TeamTranscript(span, lead, [*members]))
            case TeamBroadcast() as event:
                team = without_cycle(draft.span).rpartition("/")[0]
                teams[team].broadcasts.append(_said(event, draft.ts))
    for transcript in teams.values():
        transcript.broadcasts.sort(key=lambda said: said.order)
    return list(teams.values())


def _said(event: TeamBroadcast, ts: str) -> Said:
    return Said(
        order=event.order,
        member_id=event.member_id,
        type=event.kind,
        message=event.message,
        turn_count=event.turn_count,
        timestamp=ts,
        terminal=event.terminal,
        outcome=event.outcome,
    )
