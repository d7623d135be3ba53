"""Operations on decisions: what agents and people decide together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.coordination.decisions import read_rule
from folkmoot.domain.decision import WINDOW, Decision, DecisionStatus, Option, Proposal, Voter
from folkmoot.domain.message import ToolResult
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import (
    AgentTool,
    Http,
    Operation,
    OperationType,
    Spelling,
    Text,
    WorkSessionId,
)
from folkmoot.operations.project import OpenProject
from folkmoot.ports import RecordQuery
from folkmoot.views.decisions import document, record

_LISTED = "As `list` shows it, its beginning, or `last`."
DecisionName = Annotated[str, Spelling(terminal="ID", http=False, help=_LISTED)]
DecisionOrOpen = Annotated[str, Spelling(terminal="ID", http=False, tool_default="", help=_LISTED)]
_NEXT = ("showDecision", "voteDecision", "commentDecision", "decisionRecord")
_OF_DECISION = "$response.body#/id"


def _post(verb: str) -> Http:
    links = dict.fromkeys(_NEXT, _OF_DECISION)
    return Http(method="POST", path=f"/decisions/{{id}}/{verb}", problems=(409,), links=links)


class DecisionOperation(Operation[Decision]):
    """What comes to one decision."""

    def document(self, output: Decision) -> dict[str, Any]:
        return document(output)

    async def result(self, output: Decision, project: OpenProject, actor: Actor) -> ToolResult:
        brief = project.decisions.brief(output)
        return ToolResult(brief, sources=await project.decisions.sources([output.id]))


class ChangeOfDecision(DecisionOperation):
    """Of a decision that is named; an agent may mean the one that is open in its work session."""

    subject = "decision"
    named = "user"
    form = True

    async def find_id(self, project: OpenProject, actor: Actor) -> str:
        name: str = getattr(self, "decision", "")
        if not name and actor.kind == "agent":
            return await project.decisions.meant(actor.call.work_session)
        return await project.decisions.find(name)


class ListDecisions(Operation[list[Decision]]):
    """List decisions, the oldest first."""

    command = "list"
    examples = ("folkmoot decisions list", "folkmoot decisions list --status escalated --json")
    http = Http(method="GET", path="/decisions", links=dict.fromkeys(_NEXT, "$response.body#/0/id"))
    reads = True
    status: DecisionStatus | None = None
    """Only those that are so, such as `voting`."""
    work_session: Annotated[str, Spelling(metavar="ID")] = ""
    """Only those of this one."""

    async def run(self, project: OpenProject, actor: Actor) -> list[Decision]:
        statuses = (self.status,) if self.status else None
        query = RecordQuery(statuses=statuses, work_session=self.work_session)
        return [*(await project.decisions.select(query)).values()]

    def document(self, output: list[Decision]) -> list[dict[str, Any]]:
        return [document(decision) for decision in output]


class ShowDecision(DecisionOperation):
    """Show one decision: its options, what was said, and how it stands."""

    command = "show"
    examples = (
        "folkmoot decisions show last",
        "folkmoot decisions show last --adr > adr.md",
        "folkmoot decisions show last --live",
    )
    http = Http(method="GET", path="/decisions/{id}")
    subject = "decision"
    reads = True
    decision: DecisionName

    async def run(self, project: OpenProject, actor: Actor) -> Decision:
        return await project.decisions.get(await project.decisions.find(self.decision))


class DecisionRecord(msgspec.Struct):
    id: str
    status: str
    markdown: str


class ShowDecisionRecord(Operation[DecisionRecord]):
    """The record of a decision as Markdown."""

    http = Http(method="GET", path="/decisions/{id}/adr", name="decisionRecord")
    subject = "decision"
    reads = True
    decision: DecisionName

    async def run(self, project: OpenProject, actor: Actor) -> DecisionRecord:
        found = await ShowDecision(decision=self.decision).run(project, actor)
        return DecisionRecord(found.id, found.status, record(found))


class ProposeDecision(DecisionOperation):
    """Put something to the vote."""

    command = "propose"
    examples = (
        'folkmoot decisions propose "Which database?" --option sqlite="SQLite, embedded" --option postgres \\',
        "    --voter coder --voter ann=2 --rule quorum:50% --window 1h",
    )
    http = Http(
        method="POST", path="/decisions", links=dict.fromkeys((*_NEXT, "commitDecision"), _OF_DECISION)
    )
    tool = AgentTool(
        "decision_propose",
        "Put a choice to the vote. Participants are agents by id, or people by name, each with a weight from 1.\n"
        "The rule is `majority`, `unanimous`, `quorum:2` or `quorum:50%`; the window is in seconds, 0 without end.",
    )
    creates = True
    named = "user"
    topic: Annotated[Text, Spelling(terminal="TOPIC")]
    """What is to be decided."""
    options: Annotated[tuple[Option, ...], Meta(max_length=100), Spelling(terminal=None)]
    """What can be chosen, two at least."""
    participants: Annotated[tuple[Voter, ...], Meta(max_length=1000), Spelling(terminal=None)]
    """Agents by their ids, and people."""
    evidence: Annotated[tuple[str, ...], Spelling(metavar="REF")] = ()
    """What speaks to it."""
    rule: Text = "majority"
    """majority, unanimous, quorum:2 or quorum:50%."""
    window: Annotated[float, Spelling(terminal=None)] = WINDOW
    """Seconds; 0: without end."""
    lead: Annotated[str, Spelling(metavar="NAME", tool=None)] = ""
    """Who decides if the votes do not."""
    risk: Annotated[Literal["low", "medium", "high"], Spelling(tool=None)] = "low"
    """low, medium, or high: then a person decides where the votes do not, no lead."""
    work_session_id: Annotated[
        WorkSessionId, Spelling(terminal="--work-session", metavar="ID", tool=None)
    ] = ""
    """What it belongs to."""

    async def run(self, project: OpenProject, actor: Actor) -> Decision:
        proposal = Proposal(
            self.topic,
            self.options,
            self.participants,
            read_rule(self.rule),
            self.window,
            self.evidence,
            self.lead,
            self.risk,
            work_session=self.work_session_id,
        )
        return await project.decisions.propose(actor.author(), proposal, actor.id_seed)

    def repeats(self, output: Decision) -> bool:
        return output.topic == self.topic


class CommentDecision(ChangeOfDecision):
    """Say something about a decision before it is made."""

    command = "comment"
    examples = ('folkmoot decisions comment last "We have no server." --reference docs/hosting.md',)
    http = _post("comment")
    tool = AgentTool(
        "decision_comment",
        "Say something about a decision before it is made; `references` are ids or addresses of what you mean.",
    )
    decision: DecisionName
    text: Annotated[Text, Spelling(terminal="TEXT")]
    """What you say to it."""
    references: Annotated[tuple[str, ...], Spelling(terminal="--reference", metavar="REF")] = ()
    """What you refer to."""

    async def run(self, project: OpenProject, actor: Actor) -> Decision:
        id = await self.find_id(project, actor)
        return await project.decisions.comment(id, actor.author(), self.text, self.references)


class VoteDecision(ChangeOfDecision):
    """Vote, if you are one of its participants. Until it is decided you may vote again: the last vote counts."""

    command = "vote"
    examples = (
        "folkmoot decisions vote last sqlite --as ann",
        'folkmoot decisions vote last abstain --reason "I wrote one of them."',
    )
    http = _post("vote")
    tool = AgentTool(
        "decision_vote",
        "Vote for an option by its id, or `abstain`; without `decision`, on the one that is open here.\n\n"
        "You may vote again until it is decided: the last vote counts.",
    )
    option: Annotated[Text, Spelling(terminal="OPTION")]
    """An option's id, or `abstain`."""
    decision: DecisionOrOpen
    reason: str = ""
    """Kept with the vote."""

    async def run(self, project: OpenProject, actor: Actor) -> Decision:
        id = await self.find_id(project, actor)
        return await project.decisions.vote(id, actor.author(), self.option, self.reason)


class CommitDecision(ChangeOfDecision, kw_only=True):
    """Make a decision: as the votes say, or, where they do not decide, as you say."""

    command = "commit"
    examples = (
        'folkmoot decisions commit last --rationale "The simplest that works."',
        'folkmoot decisions commit last --option sqlite --rationale "Somebody must." --as ann',
    )
    http = _post("commit")
    tool = AgentTool(
        "decision_commit",
        "Make a decision that the votes have decided. Where they do not, the lead names the option.",
    )
    option: str = ""
    """The option's id, where the votes do not decide."""
    decision: DecisionOrOpen
    rationale: str = ""
    """Why; kept in the record."""

    async def run(self, project: OpenProject, actor: Actor) -> Decision:
        id = await self.find_id(project, actor)
        return await project.decisions.commit(id, actor.author(), self.option, self.rationale)


OPERATIONS: tuple[OperationType, ...] = (
    ListDecisions,
    ShowDecision,
    ProposeDecision,
    ShowDecisionRecord,
    CommentDecision,
    VoteDecision,
    CommitDecision,
)
