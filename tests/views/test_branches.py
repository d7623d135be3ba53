from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    BudgetExceeded,
    LlmRequest,
    RunCancelled,
    RunStarted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import open_rows, rows
from tests.views.test_timeline import FILES, SCRIPT


def draft(event, span="0", agent="desk"):
    return Draft("2026-01-01T00:00:00.000Z", event, span, span, agent)


STARTED = RunStarted(agent="desk.ai", request="x", graph="g", seed="s")


def asked(turn=1, attempt=1):
    return LlmRequest(turn=turn, attempt=attempt, model="s/m", max_output=1, reserved_tokens=1)


def begun(call, tool):
    return ToolStarted(
        turn=1, call=call, tool=tool, arguments={}, effect="pure", access="read", key="k", decision="d"
    )


async def test_a_finished_run_is_a_tree_with_causes_and_ends(desk):
    """A-105, A-106, B-23."""
    played = await desk(FILES, SCRIPT).run("desk.ai")

    tree = RunTree(played.drafts)

    assert tree.status
    assert [
        (row.guide + row.branch.agent, row.branch.cause, row.branch.status) for row in rows(tree.root)
    ] == [
        ("desk", "", "completed"),
        ("├─ risk", "advisor", "failed"),
        ("└─ billing", "route", "completed"),
        ("   ├─ clerk", "sub", "completed"),
        ("   └─ editor", "handoff", "completed"),
    ]
    assert tree.root.note == "routes to billing"
    spent = [row.branch.tokens for row in rows(tree.root)]
    assert sum(spent) == played.result.totals.tokens_in + played.result.totals.tokens_out


def test_a_branch_says_what_it_does_now():
    tree = RunTree([draft(STARTED), draft(SessionStarted(agent="desk.ai", request="x")), draft(asked())])
    assert tree.root.doing == "s/m"

    tree.apply(draft(asked(attempt=2)))
    assert tree.root.doing == "s/m, attempt 2"

    for call, tool in ((1, "look"), (2, "look"), (3, "write")):
        tree.apply(draft(begun(call, tool)))
    assert tree.root.doing == "look ×2, write"

    tree.apply(draft(ToolFinished(turn=1, call=1, tool="look", text="", evidence="e")))
    tree.apply(draft(ToolFailed(turn=1, call=3, tool="write", text="(tool failed: no)")))
    assert (tree.root.doing, tree.root.note) == ("look", "write: (tool failed: no)")

    tree.apply(draft(ToolInDoubt(turn=1, call=2, tool="look")))
    assert (tree.root.tools, tree.root.note) == ({}, "look may or may not have happened")


def test_an_agent_waits_for_its_advisors_by_name_or_by_number():
    tree = RunTree([draft(STARTED)])
    for name in ("a", "b"):
        tree.apply(draft(SessionStarted(agent=f"{name}.ai", request="x"), f"0/advisor:{name}", name))
    assert tree.root.doing == "waits for a, b"

    for name in ("c", "d"):
        tree.apply(draft(SessionStarted(agent=f"{name}.ai", request="x"), f"0/advisor:{name}", name))
    assert tree.root.doing == "waits for 4 agents"


def test_pieces_of_an_answer_are_heard_until_it_is_there():
    tree = RunTree()
    tree.hear("0", "nobody is there yet")
    tree.apply(draft(STARTED))
    tree.hear("0", "Dear ")
    tree.hear("0", "customer")
    assert tree.root.heard == "Dear customer"

    tree.apply(draft(asked()))
    assert tree.root.heard == ""


def test_a_child_that_never_began_is_shown_as_failed():
    tree = RunTree([draft(STARTED), draft(BudgetExceeded(limit="5 requests"), "0/advisor:a", "a")])

    (child,) = tree.root.children
    assert (child.status, child.note) == ("failed", "5 requests")


def test_a_cancelled_run_leaves_no_branch_open():
    tree = RunTree([draft(STARTED), draft(RunCancelled(reason="enough"))])

    assert (tree.root.status, tree.root.note, tree.status) == ("cancelled", "enough", "cancelled")


def test_only_what_is_not_over_is_kept_when_there_is_no_room():
    tree = RunTree([draft(STARTED)])
    tree.apply(draft(BudgetExceeded(limit="5"), "0/advisor:over", "over"))
    tree.apply(draft(SessionStarted(agent="b.ai", request="x"), "0/advisor:open", "open"))

    assert [row.branch.agent for row in open_rows(list(rows(tree.root)))] == ["desk", "open"]


async def test_whoever_ends_with_half_an_answer_is_marked(desk):
    half = {"text": "Half of wh", "stop": "max_tokens"}
    played = await desk({"a": "description: a"}, {"a": [half]}).run("a.ai")

    assert (RunTree(played.drafts).root.status, RunTree(played.drafts).root.note) == (
        "completed",
        "the answer is cut off",
    )
