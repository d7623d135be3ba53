from bench.page import STEPS, long_run
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmFailed, LlmRequest, SessionStarted
from folkmoot.ports import Query
from folkmoot.views.run_tree import RunTree
from folkmoot.views.waterfall import Picture, axis_of
from tests.desk import SETTINGS
from tests.views.test_timeline import FILES, SCRIPT


def tree(steps):
    return [(step.level, step.kind, step.who, step.state) for step in steps.flat()]


async def test_children_stand_below_who_caused_them_however_late_they_start(desk):
    """B-61: advisors below the agent that consults them, though its own session begins after theirs."""
    played = await desk(FILES, SCRIPT).run("desk.ai")

    assert tree(RunTree(played.drafts)) == [
        (1, "session", "desk", "done"),
        (2, "advisor", "risk", "failed"),
        (3, "model", "turn 1", "failed"),
        (2, "model", "turn 1", "done"),
        (2, "transfer", "route → billing", "done"),
        (2, "session", "billing", "done"),
        (3, "model", "turn 1", "done"),
        (3, "session", "clerk", "done"),
        (4, "model", "turn 1", "done"),
        (3, "model", "turn 2", "done"),
        (3, "transfer", "handoff → editor", "done"),
        (3, "session", "editor", "done"),
        (4, "model", "turn 1", "done"),
    ]


async def test_a_tree_that_grows_entry_by_entry_never_moves_a_row_that_is_there(desk):
    """B-61: so a page that is open can take in new rows where they belong."""
    played = await desk(FILES, SCRIPT).run("desk.ai")
    steps, before = RunTree(), []
    for draft in played.drafts:
        steps.apply(draft)
        now = [step.seq for step in steps.flat()]
        assert [seq for seq in now if seq in before] == before
        before = now
    assert len(before) == 13


async def test_what_a_page_that_is_open_is_sent_is_what_changed_and_where_it_stands(desk):
    """B-61: as looking at every row would find it, without doing so."""
    played = await desk(FILES, SCRIPT).run("desk.ai")
    steps = RunTree()
    for draft in played.drafts:
        steps.apply(draft)
        rows = steps.flat()
        assert [steps.row_above(row) for row in rows] == [None, *rows[:-1]]
        for seen in range(steps.run_seq):
            assert steps.changed_since(seen) == [row for row in rows if row.changed > seen or not row.last]


async def test_missions_of_one_call_stand_below_that_call(desk):
    settings = "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
    missions = [{"mission": "a", "specialist": "clerk"}, {"mission": "b", "specialist": "clerk"}]
    call = {"tool": "call_agents_parallel", "arguments": {"missions": missions}}
    said = {"desk": [{"calls": [call]}, "ok"], "clerk": ["3"]}
    played = await desk({"desk": "", "clerk": ""}, said, settings=SETTINGS + settings).run("desk.ai")

    rows = [(level, who) for level, _, who, _ in tree(RunTree(played.drafts))]

    assert rows[2] == (2, "call_agents_parallel")
    assert rows.count((3, "clerk")) == 2


async def test_a_call_that_waits_is_a_wait_and_ends_with_the_word(desk):
    """D-30: approvals have their place in the tree."""

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    settings = SETTINGS + "rules: [{tool: pay, decision: ask}]\n"
    played = desk(
        {"a": "tools: [pay]"},
        {"a": [{"calls": [{"tool": "pay", "arguments": {"amount": 3}}]}, "ok"]},
        tools=[pay],
        settings=settings,
    )
    waiting = await played.run("a.ai")
    steps = RunTree(waiting.drafts)
    assert [(step.who, step.state) for step in steps.flat() if step.kind == "wait"] == [
        ("approval · pay", "waiting")
    ]
    assert steps.status == "waiting"

    async with played.open() as moot:
        (item,) = await moot.inbox("run-1")
        await moot.reply(item.approve(by="ada"))
        await moot.resume("run-1")
    steps = RunTree([entry.draft async for entry in played.journal.read(Query(stream="run-1"))])

    assert [(s.who, s.what, s.state) for s in steps.flat() if s.kind in ("wait", "tool")] == [
        ("approval · pay", "approved by ada", "done"),
        ("pay", "3", "done"),
    ]
    assert steps.status == "completed"


def test_a_retry_is_the_next_sibling_and_the_failed_attempt_stays():
    events = (
        SessionStarted("a.ai", "hi"),
        LlmRequest(1, 1, "scripted/any", 10, 20),
        LlmFailed(1, 1, "scripted/any", "busy", retryable=True),
        LlmRequest(1, 2, "scripted/any", 10, 20),
    )
    drafts = [Draft("2026-01-01T00:00:00.000Z", event, "run-1", "0", "a") for event in events]

    rows = [(s.who, s.attempt, s.what, s.state) for s in RunTree(drafts).flat()[1:]]

    assert rows == [("turn 1", 1, "busy", "failed"), ("turn 1", 2, "any", "open")]


def test_sums_of_a_long_run_go_up_the_tree_and_replay_takes_them_back():
    """The 4,951 rows of a run of fifty agents, and the same run as it was after its tenth answer."""
    steps = RunTree(long_run(STEPS))
    root, *_ = steps.flat()
    assert len(steps.flat()) == 4_951
    assert root.tokens == 50 * 49 * 940

    answers = [step for step in steps.flat() if step.kind == "model"][:10]
    picture = Picture(steps, axis_of(steps, steps.now, live=False), steps.now, answers[-1].last)
    shown = [picture.row(step) for step in steps.flat()]

    assert shown[0].tokens == "9.4k"
    assert shown[0].state == "open"
    assert sum(not row.later for row in shown) == 21
    assert [row.state for row in shown if row.later and row.step.kind == "tool"].count("failed") == 50
