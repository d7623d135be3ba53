"""`folkmoot decisions`, as people meet it."""

import asyncio
import io
import re

import pytest
from rich.console import Console

from folkmoot import FakeClock, MemoryJournal
from folkmoot.cli.decisions import follow_decision
from folkmoot.coordination.decision_service import Decisions
from folkmoot.coordination.record_store import Author
from folkmoot.domain.agent import Graph
from folkmoot.domain.decision import Option, Proposal, Voter

PROPOSE = (
    "decisions",
    "propose",
    "Which database?",
    "--option",
    "sqlite=SQLite, embedded",
    "--option",
    "postgres",
)


@pytest.fixture
def moot(folkmoot):
    folkmoot.write({"coder": "tools: [decisions]"}, {"coder": [{"report": "fine"}]})
    return folkmoot


def test_a_tie_is_broken_at_the_terminal_and_the_record_says_by_whom(moot):
    """D-22, U-7."""
    moot(*PROPOSE, "--voter", "ann", "--voter", "bob")
    moot("decisions", "vote", "last", "sqlite", "--as", "ann")
    told = moot("decisions", "vote", "last", "postgres", "--as", "bob")
    listed = moot("decisions", "list").out

    refused = moot("decisions", "commit", "last")
    made = moot("decisions", "commit", "last", "--option", "postgres", "--as", "eve", "--json").json

    assert "the votes do not decide: the lead must, or a person" in told.out
    assert "sqlite 1, postgres 1" in listed
    assert "Which database?" in listed
    assert (refused.code, "name an option: sqlite (SQLite, embedded), postgres" in refused.err) == (2, True)
    assert (made["tieBreakBy"], made["approval"]["subject"], made["approval"]["status"]) == (
        "eve",
        "decision",
        "approved",
    )
    assert "- Tie-break by: eve" in moot("decisions", "show", "last", "--adr").out


def test_a_weight_or_a_window_that_is_none_is_named(moot):
    for arguments, said in (
        (("propose", "x", "--option", "a", "--voter", "b=much"), "NAME=WEIGHT with a whole number"),
        (("propose", "x", "--option", "a", "--voter", "b", "--window", "soon"), "--window takes a duration"),
    ):
        done = moot("decisions", *arguments)
        assert done.code == 2
        assert re.search(said, done.err), done.err


def test_a_project_without_decisions_says_so(moot):
    assert "no decision is recorded" in moot("decisions", "list").err
    assert moot("decisions", "list", "--json").json == []
    assert moot("decisions", "show", "last").code == 2


async def test_the_live_view_follows_a_decision_until_it_is_made():
    """D-38, for the terminal."""
    clock, screen = FakeClock(), io.StringIO()
    decisions = Decisions(MemoryJournal(), clock, Graph({}))
    proposal = Proposal("Which?", (Option("a"), Option("b")), (Voter("ann"),))
    id = (await decisions.propose(Author(), proposal, "chance")).id
    console = Console(file=screen, force_terminal=True, width=100)

    following = asyncio.ensure_future(follow_decision(decisions, id, console, clock))
    await clock.advance(1)
    before = screen.getvalue()
    await decisions.vote(id, Author("ann"), "b")
    await clock.advance(1)
    voted = screen.getvalue()
    await decisions.commit(id, Author("ann"))
    await clock.advance(1)

    assert (await following).committed_option == "b"
    assert "not yet voted: ann" in before
    assert "the rule majority is met: b can be committed" in voted.removeprefix(before)
    assert "decided: b (by the votes)" in screen.getvalue().removeprefix(voted)


def test_the_live_view_of_what_is_decided_ends_at_once(moot):
    moot(*PROPOSE, "--voter", "ann")
    moot("decisions", "vote", "last", "sqlite", "--as", "ann")
    moot("decisions", "commit", "last")

    code, screen = moot.on_a_terminal("decisions", "show", "last", "--live")

    assert code == 0
    assert "decided: sqlite (by the votes)" in screen
