"""The runtime's stamp on what one agent reads from another: what was really done below, whatever the report says.

It is counted from the journal, over everyone below. Where it stands beside an agent's own text, that text can hold
nothing that looks like it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.domain.call_events import (
    AdvisorCompleted,
    AdvisorStarted,
    SubAgentCompleted,
    SubAgentFailed,
    SubAgentSpawned,
)
from folkmoot.domain.entry import Event
from folkmoot.domain.events import LlmRequest, ToolFailed, ToolStarted
from folkmoot.domain.naming import ASK_PARENT, MESSAGES, agent_tool
from folkmoot.domain.providers import REMOTE
from folkmoot.domain.report import Claim
from folkmoot.domain.spans import agent_of, child_span, without_cycle
from folkmoot.domain.team_events import TeamMemberFailed, TeamStarted
from folkmoot.domain.value import Value
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.mission import CALL_AGENT, CALL_AGENTS_PARALLEL
from folkmoot.orchestration.plan_tool import PLAN_UPDATE

_IMITATION = re.compile(r"\[(?=\s*runtime\b)", re.IGNORECASE)
_TALK = (CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_PARENT, PLAN_UPDATE.name, *MESSAGES)
_COUNTED = {
    LlmRequest,
    ToolStarted,
    ToolFailed,
    SubAgentSpawned,
    SubAgentFailed,
    SubAgentCompleted,
    AdvisorStarted,
    AdvisorCompleted,
    TeamStarted,
    TeamMemberFailed,
}
_MOST_CLAIMS, _CLAIM_LENGTH = 20, 200


class Stamp(Value):
    tool_calls: int = 0
    """Calls that were really made, without those of agents and of an agent's own plan."""
    failed: int = 0
    """Those among them that gave no result."""
    agents: int = 0
    """Agents that were called, consulted, or members of a team."""
    not_returned: tuple[str, ...] = ()
    """Those among them that gave no result: they failed, or never began."""
    remote: bool = False
    """Whether one of them is run by another program, whose calls nobody here can count."""

    def __str__(self) -> str:
        calls = f"{self.tool_calls} tool call" + ("" if self.tool_calls == 1 else "s")
        failed = f", {self.failed} failed" if self.failed else ""
        failed += "; what a remote agent did is not seen here" if self.remote else ""
        if not self.not_returned:
            return calls + failed
        names = Counter(self.not_returned)
        lost = ", ".join(name if times == 1 else f"{name} × {times}" for name, times in names.items())
        return f"{calls}{failed}; {len(self.not_returned)} of {self.agents} agents did not return: {lost}"


def stamp_of(log: RunLog, span: str, *more: str) -> Stamp:
    """What was done in a child's span and below; what it was asked after its report is not part of that."""
    seen = _Seen(span)
    for at, event in (each for place in (span, *more) for each in log.below(place)):
        if type(event) in _COUNTED and not at.startswith(child_span(span, "clarify:")):
            seen.take(at, event)
    lost = sorted(seen.agents[key] for key in seen.agents.keys() - seen.returned)
    return Stamp(len(seen.calls), len(seen.calls & seen.failed), len(seen.agents), tuple(lost), seen.remote)


def stamped(stamp: Stamp, claims: Sequence[Claim]) -> str:
    """What is read below a child's text: a line for each of its claims, and the stamp."""
    return f"{claimed(claims)}\n[runtime: {stamp}]"


def claimed(claims: Sequence[Claim]) -> str:
    return "".join(f"\n[runtime: {_line(claim)}]" for claim in shortened(claims))


def shortened(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """As much of a child's claims as its caller reads: nothing cuts them later."""
    cut = (replace(claim, text=_in_one_line(claim.text)) for claim in claims[:_MOST_CLAIMS])
    left = len(claims) - _MOST_CLAIMS
    return (*cut, *([Claim(f"{left} more claims, left out here")] if left > 0 else []))


def unstamped(text: str) -> str:
    """An agent's own words, with nothing in them that could be taken for a stamp."""
    return _IMITATION.sub("(", text)


def _line(claim: Claim) -> str:
    ids = f" by {', '.join(claim.evidence)}" if claim.status == "verified" else ""
    return f"{claim.status}{ids}: {claim.text}"


def _in_one_line(text: str) -> str:
    line = unstamped(" ".join(text.split()))
    return line if len(line) <= _CLAIM_LENGTH else f"{line[: _CLAIM_LENGTH - 1]}…"


class _Seen:
    """What there was below a child, while its events are looked through."""

    def __init__(self, span: str) -> None:
        self._span = span
        self._session = ""
        self.calls: set[tuple[str, int, int]] = set()
        self.failed: set[tuple[str, int, int]] = set()
        self.agents: dict[str, str] = {}
        """Ids of agents by their sessions, or by their places where they have none of their own."""
        self.returned: set[str] = set()
        self.remote = False

    def take(self, span: str, event: Event) -> None:
        """The child's own beginning and end are noted in its span too, and are no part of what it did."""
        match event:
            case ToolStarted(tool=tool) if not _calls_agents(tool):
                self.calls.add((span, event.turn, event.call))
            case ToolFailed():
                self.failed.add((span, event.turn, event.call))
            case LlmRequest(model=model):
                self.remote |= model.startswith(REMOTE)
            case SubAgentSpawned() if span == self._span:
                self._session = event.session
            case SubAgentSpawned(session=session, specialist=agent):
                self.agents[session] = agent
            case SubAgentFailed(session=session) if session != self._session:
                self.agents.setdefault(session, agent_of(session))
            case AdvisorStarted(advisor=agent) if span != self._span:
                self.agents[span] = agent
            case SubAgentCompleted(session=key):
                self.returned.add(key)
            case AdvisorCompleted():
                self.returned.add(span)
            case _:
                self._take_team(span, event)

    def _take_team(self, span: str, event: Event) -> None:
        """A member is there from the beginning; only if it fails, its work is missing."""
        match event:
            case TeamStarted(members=members):
                seats = {child_span(without_cycle(span), "member", member): member for member in members}
                self.agents |= seats
                self.returned |= seats.keys()
            case TeamMemberFailed():
                self.returned.discard(without_cycle(span))


def _calls_agents(tool: str) -> bool:
    return tool in _TALK or tool.startswith(agent_tool(""))
