"""Puts a team together from the agents of a project, and says what its members may do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, MemberRole
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.naming import wire_glob
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import Action, Member, Policy, Roster, WorkSession
from folkmoot.errors import NotFound, WrongUse


class Seat(Value):
    """What is wanted of one member. Empty fields do not restrict."""

    role: MemberRole | None = None
    capabilities: tuple[str, ...] = ()
    agent: str = ""
    """Its id: this one, in that role, whatever its file says its role is."""
    policy: Policy = Policy()

    def __str__(self) -> str:
        able = f" able to {' and '.join(self.capabilities)}" if self.capabilities else ""
        return (self.role or "member") + able


def compose(wanted: Sequence[Seat], agents: Iterable[Agent], name: str = "") -> Roster:
    """An agent of its own for every seat. Raises `WrongUse`, naming the seat that nobody can take and who there is."""
    by_id = {agent.id: agent for agent in agents}
    able = [[id for id, agent in by_id.items() if _fits(seat, agent)] for seat in wanted]
    seated: dict[str, int] = {}
    for number, seat in enumerate(wanted):
        if not _seat(number, able, seated, set()):
            raise _nobody(seat, able[number], by_id.values())
    taken = {number: by_id[id] for id, number in seated.items()}
    members = (
        Member(taken[number].id, seat.role or taken[number].role, taken[number].capabilities, seat.policy)
        for number, seat in enumerate(wanted)
    )
    return Roster(tuple(members), name)


def permitted(work_session: WorkSession, agent: str, action: Action) -> bool:
    """Whether an agent may do this in a work session; without a team anybody may."""
    return not refusal(work_session, agent, action)


def refusal(work_session: WorkSession, agent: str, action: Action) -> str:
    """Why it may not; empty if it may."""
    if work_session.team is None:
        return ""
    member = work_session.team.member(agent)
    if member is None:
        members = ", ".join(each.agent for each in work_session.team.members)
        return f"{agent} does not belong to the team of {work_session.id}, which is {members}"
    allowed = member.policy.actions
    if allowed is None or action in allowed:
        return ""
    return f"{agent} may not {action} in {work_session.id}; its team lets it {', '.join(allowed) or 'do nothing'}"


def narrowed(policy: StepPolicy, member: Policy) -> StepPolicy:
    """What a step may do when this member does it: only tools that both allow."""
    if member.tools is None or policy.tools is None:
        return policy if member.tools is None else replace(policy, tools=member.tools)
    its = StepPolicy(tools=member.tools)
    both = (
        *(tool for tool in policy.tools if its.names(wire_glob(tool))),
        *(tool for tool in member.tools if policy.names(wire_glob(tool))),
    )
    return replace(policy, tools=tuple(dict.fromkeys(both)))


def _fits(seat: Seat, agent: Agent) -> bool:
    if seat.agent:
        return agent.id == seat.agent
    return seat.role in (None, agent.role) and {*seat.capabilities} <= {*agent.capabilities}


def _seat(number: int, able: Sequence[Sequence[str]], seated: dict[str, int], tried: set[str]) -> bool:
    """Find an agent for a seat, if need be by moving others who can sit elsewhere."""
    for id in sorted(able[number], key=lambda id: id in seated):  # nobody is moved without need
        if id in tried:
            continue
        tried.add(id)
        if id not in seated or _seat(seated[id], able, seated, tried):
            seated[id] = number
            return True
    return False


def _nobody(seat: Seat, able: Sequence[str], agents: Iterable[Agent]) -> WrongUse:
    there = "; ".join(
        f"{agent.id}: {agent.role}{', ' + ', '.join(agent.capabilities) if agent.capabilities else ''}"
        for agent in agents
    )
    if seat.agent and not able:
        return NotFound(
            f"there is no agent {seat.agent!r} for the team; there are {there or 'none'}",
            code="agent_not_found",
        )
    why = f"every one has another seat ({', '.join(able)})" if able else "no agent is one"
    return WrongUse(f"the team lacks a {seat}: {why}; there are {there or 'none'}")
