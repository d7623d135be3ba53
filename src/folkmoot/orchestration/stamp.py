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
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.runtime_tools import CALL_AGENT, CALL_AGENTS_PARALLEL, PLAN_UPDATE

_IMITATION = re.compile(r"\[(?=\s*runtime\b)", re.IGNORECASE)
_TALK = (CALL_AGENT, CALL_AGENTS_PARALLEL, ASK_PARENT, PLAN_UPDATE.name, *MESSAGES)
_MOST_CLAIMS, _CLAIM_LENGTH = 20, 200


class WorkSummary(Value):
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


def summarize_work(log: RunLog, span: str, *more: str) -> WorkSummary:
    """What was done in a child's span and below; what it was asked after its report is not part of that."""
    asked_later = child_span(span, "clarify:")
    below = [
        (at, event)
        for place in (span, *more)
        for at, event in log.below(place)
        if not at.startswith(asked_later)
    ]
    calls, failed, remote = set(), set(), False
    for at, event in below:
        match event:
            case ToolStarted(tool=tool) if tool not in _TALK and not tool.startswith(agent_tool("")):
                calls.add((at, event.turn, event.call))
            case ToolFailed():
                failed.add((at, event.turn, event.call))
            case LlmRequest(model=model):
                remote |= model.startswith(REMOTE)
    agents, returned = _find_agents_below(span, below)
    lost = sorted(agents[key] for key in agents.keys() - returned)
    return WorkSummary(len(calls), len(calls & failed), len(agents), tuple(lost), remote)


def _find_agents_below(span: str, events: Sequence[tuple[str, Event]]) -> tuple[dict[str, str], set[str]]:
    """The ids of agents by their sessions, or by their places where they have none of their own; and which of them
    returned. The child's own beginning and end are noted in its span too, and are no part of what it did."""
    agents: dict[str, str] = {}
    returned: set[str] = set()
    own = ""
    for at, event in events:
        match event:
            case SubAgentSpawned() if at == span:
                own = event.session
            case SubAgentSpawned(session=session, specialist=agent):
                agents[session] = agent
            case SubAgentFailed(session=session) if session != own:
                agents.setdefault(session, agent_of(session))
            case SubAgentCompleted(session=session):
                returned.add(session)
            case AdvisorStarted(advisor=agent) if at != span:
                agents[at] = agent
            case AdvisorCompleted():
                returned.add(at)
            case TeamStarted(members=members):
                # A member is there from the beginning; only if it fails, its work is missing.
                seats = {child_span(without_cycle(at), "member", member): member for member in members}
                agents |= seats
                returned |= seats.keys()
            case TeamMemberFailed():
                returned.discard(without_cycle(at))
    return agents, returned


def render_work_summary(stamp: WorkSummary, claims: Sequence[Claim]) -> str:
    """What is read below a child's text: a line for each of its claims, and the stamp."""
    return f"{render_claims(claims)}\n[runtime: {stamp}]"


def render_claims(claims: Sequence[Claim]) -> str:
    return "".join(f"\n[runtime: {_render_claim(claim)}]" for claim in shorten_claims(claims))


def shorten_claims(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """As much of a child's claims as its caller reads: nothing cuts them later."""
    cut = (
        replace(each, text=one_line(escape_runtime_marks(each.text), _CLAIM_LENGTH))
        for each in claims[:_MOST_CLAIMS]
    )
    left = len(claims) - _MOST_CLAIMS
    return (*cut, *([Claim(f"{left} more claims, left out here")] if left > 0 else []))


def escape_runtime_marks(text: str) -> str:
    """An agent's own words, with nothing in them that could be taken for a stamp."""
    return _IMITATION.sub("(", text)


def _render_claim(claim: Claim) -> str:
    ids = f" by {', '.join(claim.evidence)}" if claim.status == "verified" else ""
    return f"{claim.status}{ids}: {claim.text}"
