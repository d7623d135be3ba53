"""Every operation on decisions does the same, refuses with the same code and records its actor in every interface."""

import pytest

from folkmoot.coordination.record_store import Author
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.operations import decisions
from folkmoot.operations.actor import account_name
from folkmoot.operations.decisions import (
    CommentDecision,
    CommitDecision,
    ListDecisions,
    ProposeDecision,
    ShowDecision,
    VoteDecision,
)
from tests.operations.interfaces import Interfaces, assert_all_tried

FILES = {"coder": "role: lead", "tester": ""}


async def prepared(project):
    """One that is open, one that all others have voted on, and one that is decided; their ids."""
    desk, eve = project.moot.decisions, Author("eve")
    voters = tuple(map(Voter, (account_name(), "coder", "eve", "ann")))
    choice = Proposal("Which?", (Option("a"), Option("b")), voters, window=0)
    known = {}
    for name in ("open", "voted", "over"):
        known[name] = (await desk.propose(eve, choice, name)).id
    for name in ("voted", "over"):
        for voter in ("eve", "ann", account_name()):
            await desk.vote(known[name], Author(voter), "a")
    await desk.commit(known["over"], eve)
    return known


def of(kind, length=None):
    return lambda known: known[kind][:length]


OPEN, VOTED, OVER = {"decision": of("open")}, {"decision": of("voted")}, {"decision": of("over")}
NOBODY = {"decision": "decision_nothing"}

CASES = [
    (ListDecisions, {}, ""),
    (ListDecisions, {"status": "committed"}, ""),
    (ListDecisions, {"status": "bogus"}, "bad_value"),
    (ShowDecision, {"decision": of("over", 15)}, ""),
    (ShowDecision, {"decision": "last"}, ""),
    (ShowDecision, NOBODY, "decision_not_found"),
    (CommentDecision, {**OPEN, "text": "well", "references": ["a.md"]}, ""),
    (CommentDecision, {**OPEN, "text": " "}, "bad_value"),
    (CommentDecision, {**OVER, "text": "well"}, "wrong_use"),
    (CommentDecision, {**NOBODY, "text": "well"}, "decision_not_found"),
    (VoteDecision, {**OPEN, "option": "a", "reason": "good"}, ""),
    (VoteDecision, {**OPEN, "option": "abstain"}, ""),
    (VoteDecision, {**OPEN, "option": "c"}, "bad_value"),
    (VoteDecision, {**OVER, "option": "a"}, "wrong_use"),
    (VoteDecision, {**NOBODY, "option": "a"}, "decision_not_found"),
    (CommitDecision, {**VOTED, "rationale": "good"}, ""),
    (CommitDecision, {**VOTED, "option": "b"}, "wrong_use"),
    (CommitDecision, OPEN, "wrong_use"),
    (CommitDecision, NOBODY, "decision_not_found"),
]


def form_of(operation, given):
    return f"/decisions/{given['decision']}/{operation.command}"


@pytest.mark.parametrize(("operation", "values", "code"), CASES)
async def test_an_operation_is_the_same_in_every_interface(tmp_path, operation, values, code):
    interfaces = Interfaces(tmp_path, "decisions", FILES, prepared, form_of)

    await interfaces.agree(operation, values, code, agent="coder")


def test_every_operation_of_people_is_tried_with_something_good_and_something_bad():
    others = [each for each in decisions.OPERATIONS if each is not ProposeDecision]

    assert_all_tried(others, CASES)
