"""Decisions: what agents and people decide together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.coordination.decisions.committing import Choice
from folkmoot.coordination.decisions.proposing import read_rule
from folkmoot.domain.decision import ABSTAIN, WINDOW, DecisionStatus, Option, Proposal, Voter
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.paging import Page, Part, part
from folkmoot.http.problems import Refused, input_refused
from folkmoot.http.reading import Said, Words, WorkSessionId
from folkmoot.views.adr import record
from folkmoot.views.decisions import document

OF_DECISION = {"id": "$response.body#/id"}
_THEN = {name: OF_DECISION for name in ("showDecision", "voteDecision", "commentDecision", "decisionRecord")}


class DecisionsQuery(Page):
    status: DecisionStatus | None = None
    """Those that are so."""
    work_session: str = ""
    """Only those of this one."""


class Propose(Said):
    topic: Words
    """What is to be decided."""
    options: Annotated[tuple[Option, ...], Meta(min_length=2, max_length=100)]
    participants: Annotated[tuple[Voter, ...], Meta(min_length=1, max_length=1000)]
    """Agents by their ids, and people."""
    rule: Words = "majority"
    """`majority`, `unanimous`, `quorum:2` or `quorum:50%`."""
    window: float = WINDOW
    """Seconds; 0: without end."""
    evidence: tuple[str, ...] = ()
    lead: str = ""
    """Who decides if the votes do not."""
    risk: Literal["low", "medium", "high"] = "low"
    """With `high` a person decides where the votes do not."""
    work_session_id: WorkSessionId = ""
    """What it belongs to."""


class Comment(Said):
    text: Words
    references: tuple[str, ...] = ()


class CastVote(Said):
    option: Words
    """An option's id, or `abstain`."""
    reason: str = ""


class Commit(Said):
    option: str = ""
    """Where the votes do not decide."""
    rationale: str = ""


class DecisionRecord(msgspec.Struct):
    id: str
    status: str
    markdown: str


async def list_decisions(asked: Asked) -> Part:
    """The oldest first."""
    query: DecisionsQuery = asked.query
    rows = [
        document(decision)
        for decision in await asked.desks.decisions.all()
        if query.status in (None, decision.status) and query.work_session in ("", decision.work_session)
    ]
    return part(rows, query, lambda row: str(row["id"]))


async def show_decision(asked: Asked) -> dict[str, Any]:
    return document(await asked.desks.decisions.get(asked.id))


async def decision_record(asked: Asked) -> DecisionRecord:
    decision = await asked.desks.decisions.get(asked.id)
    return DecisionRecord(decision.id, decision.status, record(decision))


async def propose_decision(asked: Asked) -> dict[str, Any]:
    body: Propose = asked.body
    with input_refused():
        proposal = Proposal(
            body.topic,
            body.options,
            body.participants,
            read_rule(body.rule),
            body.window,
            body.evidence,
            body.lead,
            body.risk,
            work_session=body.work_session_id,
        )
        known = {decision.id: decision for decision in await asked.desks.decisions.all()}
        chance = asked.chance
        if before := known.get(asked.author.new_id("decision_", chance)):
            asked.must_repeat(before.topic == body.topic)
            return document(before)
        return document(await asked.desks.decisions.propose(asked.author, proposal, chance))


async def comment_decision(asked: Asked) -> dict[str, Any]:
    body: Comment = asked.body
    return document(await asked.desks.decisions.comment(asked.id, asked.author, body.text, body.references))


async def vote_decision(asked: Asked) -> dict[str, Any]:
    """For the participants. Until it is decided anybody may vote again: the last vote counts."""
    body: CastVote = asked.body
    decision = await asked.desks.decisions.get(asked.id)
    if body.option != ABSTAIN and not decision.option(body.option):
        raise Refused(400, f"{decision.id} has no option {body.option!r}")
    return document(await asked.desks.decisions.vote(asked.id, asked.author, body.option, body.reason))


async def commit_decision(asked: Asked) -> dict[str, Any]:
    """As the votes say, or, where they do not decide, as you say."""
    choice = Choice(asked.body.option, asked.body.rationale)
    return document(await asked.desks.decisions.commit(asked.id, asked.author, choice))


def _change(verb: str, summary: str, handle: Any, body: Any) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/decisions/{{id}}/{verb}",
        summary=summary,
        handle=handle,
        body=body,
        answer=Document,
        problems=(409,),
        links=_THEN,
    )


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/decisions",
        summary="Decisions, the oldest first",
        handle=list_decisions,
        query=DecisionsQuery,
        answer=list[Document],
        links={name: {"id": "$response.body#/0/id"} for name in _THEN},
    ),
    Endpoint(
        method="POST",
        path="/decisions",
        summary="Put something to the vote",
        handle=propose_decision,
        body=Propose,
        answer=Document,
        status=201,
        links={**_THEN, "commitDecision": OF_DECISION},
    ),
    Endpoint(
        method="GET",
        path="/decisions/{id}",
        summary="One decision: its options, what was said, and how it stands",
        handle=show_decision,
        answer=Document,
    ),
    Endpoint(
        method="GET",
        path="/decisions/{id}/adr",
        summary="The record of a decision as Markdown",
        handle=decision_record,
        answer=DecisionRecord,
    ),
    _change("comment", "Say something about a decision before it is made", comment_decision, Comment),
    _change("vote", "Vote", vote_decision, CastVote),
    _change("commit", "Make a decision", commit_decision, Commit),
)
