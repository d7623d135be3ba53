"""`folkmoot plans`, as people meet it."""

import asyncio
import io
import json
import re

import pytest
from rich.console import Console

from folkmoot import FakeClock, MemoryJournal
from folkmoot.cli.plans import follow_plan
from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination import plans as life
from folkmoot.coordination.plan_service import Plans
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.coordination.record_store import Author
from folkmoot.domain.agent import Graph

PLAN = """
title: Add export
goal: Users can take their data with them.
tools_requested: [files.write]
steps:
  - description: Write it
    owner: coder
    acceptance: The tests pass.
    tool_policy: {tools: [files.write], approval: ask, budget: {time: 10m, tokens: 500, files_changed: 3}}
  - {description: Test it, owner: tester, acceptance: A report.}
"""


@pytest.fixture
def moot(folkmoot):
    folkmoot.write({"coder": "", "tester": ""}, {"coder": [{"report": "fine"}]})
    (folkmoot.folder / "plan.yaml").write_text(PLAN)
    return folkmoot


def committed(moot):
    moot("plans", "draft", "--file", "plan.yaml")
    moot("plans", "submit", "last")
    return moot("plans", "approve", "last", "--commit", "--json").json


def test_people_draft_review_submit_decide_and_commit_a_plan(moot):
    """U-2, D-4, D-14, E-74: the fields of a plan, and who decided."""
    drafted = moot("plans", "draft", "--file", "plan.yaml", "--as", "ann", "--json").json
    reviewed = moot("plans", "review", "last", "change", "--text", "Which format?", "--as", "bob")
    moot("plans", "submit", "last")
    rejected = moot("plans", "reject", drafted["id"], "--reason", "Too little.", "--as", "eve", "--json").json
    moot("plans", "revise", "last", "--file", "plan.yaml")
    moot("plans", "submit", "last")
    moot("plans", "approve", "last", "--as", "eve")
    made = moot("plans", "commit", "last", "--json").json

    assert (drafted["status"], drafted["author"], drafted["percent"]) == ("draft", "ann", 0)
    assert "bob wants a change: Which format?" in reviewed.out
    assert "may: use files.write, make calls that were approved, take 10m, spend 500 tokens" in reviewed.out
    assert (rejected["status"], rejected["rejectReason"], rejected["decidedBy"]) == (
        "rejected", "Too little.", "eve",
    )  # fmt: skip
    assert (made["id"], made["status"], made["decidedBy"], made["rejectReason"]) == (
        drafted["id"], "committed", "eve", None,
    )  # fmt: skip
    step = made["steps"][0]
    assert {"id", "owner", "description", "acceptance", "toolPolicy", "status"} <= step.keys()
    assert step["toolPolicy"]["budget"] == {"time": 600.0, "tokens": 500, "filesChanged": 3}


def test_steps_are_carried_out_passed_on_and_reopened_at_the_terminal(moot):
    """D-15, D-18, D-19, D-37, D-41."""
    committed(moot)
    moot("plans", "start", "last", "s1")
    passed = moot("plans", "reassign", "last", "s1", "tester", "--reason", "Knows the format.")
    moot("plans", "accept", "last", "s1")
    moot("plans", "start", "last", "s1")
    moot("plans", "block", "last", "s1", "--reason", "Which format?", "--decision", "decision_1")
    moot("plans", "resume", "last", "s1")
    half = moot("plans", "complete", "last", "s1", "--note", "See a.py.", "--json").json
    done = moot("plans", "complete", "last", "s2", "--skip", "--json").json
    again = moot("plans", "reopen", "last", "s1", "--reason", "No tests.", "--json").json

    assert "passed on by coder; tester has not accepted it" in passed.out
    assert (half["percent"], half["steps"][0]["owner"], half["steps"][0]["note"]) == (
        50,
        "tester",
        "See a.py.",
    )
    assert (done["status"], done["percent"], done["steps"][1]["status"]) == ("done", 100, "skipped")
    assert (again["status"], again["steps"][0]["status"]) == ("committed", "in_progress")
    exported = [json.loads(line) for line in moot("log", "export").out.splitlines()]
    assert [line["data"]["percent"] for line in exported if line["type"] == "plan.progress"] == [
        0,
        50,
        100,
        50,
    ]
    assert {line["role"] for line in exported if line["type"].startswith(("plan.", "step."))} == {
        "orchestration.task"
    }


def test_wrong_input_is_named(moot):
    (moot.folder / "bad.yaml").write_text("titel: x\n")
    (moot.folder / "broken.yaml").write_text("title: [\n")
    for arguments, said in (
        (("draft",), "a TITLE with --step, or --file"),
        (("draft", "x", "--file", "plan.yaml"), "either --file, or a TITLE"),
        (("draft", "x"), "it has 0 steps"),
        (("draft", "--file", "none.yaml"), "cannot be read"),
        (("draft", "--file", "bad.yaml"), "bad.yaml is no plan: .*titel"),
        (("draft", "--file", "broken.yaml"), "broken.yaml:2:1: this is not YAML"),
    ):
        done = moot("plans", *arguments)
        assert done.code == (4 if "broken" in said else 2)
        assert re.search(said, done.err), done.err


async def test_the_live_view_follows_a_plan_until_it_is_done():
    clock, screen = FakeClock(), io.StringIO()
    plans, ann = Plans(MemoryJournal(), clock, Graph({})), Author("ann")
    wish = PlanWish("Add export", (StepWish("Write it", "user", "The tests pass."),))
    id = (await plans.draft(ann, wish, chance="1", submitted=True)).id
    await plans.change(id, ann, life.approve, committed=True)
    console = Console(file=screen, force_terminal=True, width=100)

    following = asyncio.ensure_future(follow_plan(plans, id, console, clock))
    await clock.advance(1)
    before = screen.getvalue()
    await plans.change(id, ann, steps.start, "s1")
    await clock.advance(1)
    begun = screen.getvalue()
    await plans.change(id, ann, steps.complete, "s1")
    await clock.advance(1)

    assert (await following).status == "done"
    assert "s1 pending, user: Write it" in before
    assert "s1 in_progress, user" in begun.removeprefix(before)
    assert "100 % over" in screen.getvalue().removeprefix(begun)


def test_the_live_view_of_what_is_over_ends_at_once(moot):
    committed(moot)
    for step in ("s1", "s2"):
        moot("plans", "complete", "last", step, "--skip")

    code, screen = moot.on_a_terminal("plans", "show", "last", "--live")

    assert code == 0
    assert "100 % over" in screen
