"""`folkmoot decisions`, as people meet it."""

from __future__ import annotations

import asyncio
import io
import json
import re
import subprocess
import sys

import pytest
from rich.console import Console

from folkmoot import FakeClock, MemoryJournal
from folkmoot.cli.decisions import follow
from folkmoot.coordination.author import Author
from folkmoot.coordination.decisions.desk import Decisions
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


def test_people_decide_at_the_terminal(moot):
    """D-5, D-9, D-21: propose, deliberate, vote, commit, and the record with the fields of a decision."""
    proposed = moot(*PROPOSE, "--voter", "ann=2", "--voter", "bob", "--evidence", "bench-1", "--json").json
    commented = moot(
        "decisions", "comment", "last", "It is simple.", "--reference", "docs/a.md", "--as", "bob"
    )
    moot("decisions", "vote", proposed["id"], "sqlite", "--as", "ann", "--reason", "simple")
    made = moot("decisions", "commit", "last", "--rationale", "It works.", "--json").json

    assert (proposed["status"], proposed["proposedBy"], proposed["window"]) == ("proposed", "user", 120)
    assert "bob says: It is simple." in commented.out
    assert {
        "id",
        "topic",
        "options",
        "votes",
        "committedOption",
        "rationale",
        "participants",
        "timestamp",
    } <= set(made)
    assert (made["committedOption"], made["rationale"], made["how"]) == ("sqlite", "It works.", "vote")
    assert made["participants"] == [{"name": "ann", "weight": 2}, {"name": "bob", "weight": 1}]
    assert made["tally"]["counts"] == {"sqlite": 2, "postgres": 0}
    assert moot("decisions", "show", proposed["id"][:14], "--json").json == made
    (listed,) = moot("decisions", "list", "--status", "committed", "--json").json
    assert listed == made
    assert moot("decisions", "list", "--status", "voting", "--json").json == []


def test_a_tie_is_broken_at_the_terminal_and_the_record_says_by_whom(moot):
    """D-22, U-7."""
    moot(*PROPOSE, "--voter", "ann", "--voter", "bob")
    moot("decisions", "vote", "last", "sqlite", "--as", "ann")
    told = moot("decisions", "vote", "last", "postgres", "--as", "bob")

    refused = moot("decisions", "commit", "last")
    made = moot("decisions", "commit", "last", "--option", "postgres", "--as", "eve", "--json").json

    assert "the votes do not decide: the lead must, or a person" in told.out
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


VOTING = """
import asyncio, sys
from pathlib import Path
from folkmoot.coordination.author import Author
from folkmoot.coordination.decisions.desk import Decisions
from folkmoot.domain.agent import Graph
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.workshop import open_journal

async def vote(id, name):
    journal = open_journal(Path.cwd())
    decisions = Decisions(journal, SystemClock(), Graph({}))
    sys.stdin.readline()
    for number in range(50):
        await decisions.vote(id, Author(name), ("sqlite", "postgres")[number % 2], str(number))
    await journal.close()

asyncio.run(vote(*sys.argv[1:]))
"""


def test_two_processes_that_vote_at_once_lose_nothing(moot):
    """O-7, O-40: all votes stay, in order, and the last of each counts."""
    id = moot(*PROPOSE, "--voter", "ann", "--voter", "bob", "--json").json["id"]
    started = [
        subprocess.Popen([sys.executable, "-c", VOTING, id, name], cwd=moot.folder, stdin=subprocess.PIPE)
        for name in ("ann", "bob")
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=60)

    votes = moot("decisions", "show", id, "--json").json["votes"]

    assert [process.returncode for process in started] == [0, 0]
    for name in ("ann", "bob"):
        assert [vote["reason"] for vote in votes if vote["voter"] == name] == [str(n) for n in range(50)]


async def test_the_live_view_follows_a_decision_until_it_is_made():
    """D-38, for the terminal."""
    clock, screen = FakeClock(), io.StringIO()
    decisions = Decisions(MemoryJournal(), clock, Graph({}))
    proposal = Proposal("Which?", (Option("a"), Option("b")), (Voter("ann"),))
    id = (await decisions.propose(Author(), proposal, "chance")).id
    console = Console(file=screen, force_terminal=True, width=100)

    following = asyncio.ensure_future(follow(decisions, id, console, clock))
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


def test_the_journal_tells_a_decision_step_by_step(moot):
    """D-9: the types of the log."""
    moot(*PROPOSE, "--voter", "ann")
    moot("decisions", "comment", "last", "hm")
    moot("decisions", "vote", "last", "sqlite", "--as", "ann")
    moot("decisions", "commit", "last")

    exported = [json.loads(line) for line in moot("log", "export").out.splitlines()]

    types = [line["type"] for line in exported if line["type"].startswith("decision.")]
    names = ("proposed", "deliberated", "voting_opened", "voted", "committed")
    assert types == [f"decision.{name}" for name in names]
    assert {line["role"] for line in exported if line["type"] in types} == {"orchestration.task"}
