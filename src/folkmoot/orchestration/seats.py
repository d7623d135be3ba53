"""Who sits in a team, with what: each member with a broadcast and nothing else to end with, the lead with a report."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Cause
from folkmoot.domain.sources import Source
from folkmoot.domain.value import Value
from folkmoot.orchestration.briefs import brief_with
from folkmoot.orchestration.broker import LEAD
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import Kit
from folkmoot.orchestration.reach import Reach
from folkmoot.session.conversation import answer_open_calls
from folkmoot.session.state import Brief, State


class Seat(Value):
    name: str
    """Its part of the span: `member:coder`, or `lead`."""
    cause: Cause
    agent: Agent
    kit: Kit
    max_turns: int
    """Over all cycles."""


def members_of(run: Run, file: Agent, reach: Reach) -> Iterator[Seat]:
    assert file.team is not None
    for name in file.team.members:
        agent = run.graph.agents[name]
        yield Seat(
            name=f"member:{agent.id}",
            cause="member",
            agent=agent,
            kit=run.kits.of_member(file, agent, reach.below(file)),
            max_turns=file.team.member_max_turns or agent.tuning.max_turns,
        )


def lead_of(run: Run, file: Agent, reach: Reach) -> Seat:
    """The team's own file, or the one it names; that one reads the file's body first, as the team's brief."""
    assert file.team is not None
    agent = file
    if file.team.supervisor:
        agent = run.graph.agents[file.team.supervisor]
        agent = replace(agent, prompt=f"{file.prompt}\n\n{agent.prompt}".strip())
    return Seat(
        name=LEAD,
        cause="lead",
        agent=agent,
        kit=run.kits.of_lead(file, agent, reach),
        max_turns=file.team.supervisor_max_turns or agent.tuning.max_turns,
    )


def brief_of(run: Run, seat: Seat, asked: Invocation, so_far: State | None) -> Brief:
    """The next part of a seat's conversation."""
    brief = replace(brief_with(run, asked, run.offering(asked, seat.kit)), max_turns=seat.max_turns)
    if so_far is None:
        return brief
    if run.behavior == 1:
        said = brief.policy.taint or (Source("what was said in its team"),)
        brief = replace(brief, policy=replace(brief.policy, taint=said))
    return replace(brief, before=answer_open_calls(so_far), turns_before=so_far.turn)
