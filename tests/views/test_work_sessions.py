"""The list of work sessions and the timeline of one, as folds over entries."""

from itertools import count

import pytest

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.category import CATEGORIES, LABELS, classified
from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunCompleted, RunStarted, ToolStarted
from folkmoot.domain.inbox_events import ApprovalRequested
from folkmoot.domain.plan import Plan, PlanCreated, StepCompleted, StepStarted
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.work_session import (
    WorkSessionCategorised,
    WorkSessionChanged,
    WorkSessionLabelled,
    WorkSessionOpened,
)
from folkmoot.views.timeline import work_timeline
from folkmoot.views.work_sessions import WorkList, WorkRow, subtitle, title

_SEQ = count(1)
ANSWERED = RunCompleted(Outcome("report", Report("text", "fine"), "a"))


def entry(event: Event, at: str = "2026-01-01T10:00", **more: str) -> Entry:
    ts = f"{at}:00.000Z"
    agent, span, stream = more.get("agent", "ann"), more.get("span", "0"), more.get("stream", "run-1")
    draft = Draft(ts, event, "", span, agent, more.get("ws", "ws_1"))
    return Entry(next(_SEQ), 1, "", "", stream, draft)


def started(request: str, label: str = "", **more: str) -> Entry:
    return entry(RunStarted("ann.ai", request, "", "", errand=Errand(label=label)), **more)


def opened(goal: str, at: str = "2026-01-01T10:00") -> Entry:
    return entry(WorkSessionOpened(goal), at, stream="ws_1", span="", agent="user")


def only(*entries: Entry, now: str = "2026-01-01T10:05") -> WorkRow:
    (row,) = WorkList(entries).rows(f"{now}:00.000Z")
    return row


def test_every_event_of_a_work_session_counts_whatever_its_role_and_stream():
    """E-9, U-1: workSessionId is the grouping root across all roles."""
    row = only(
        opened("Ship it"),
        started("Write the parser"),
        entry(StepStarted("plan_1", "s1")),
        entry(StepStarted("plan_1", "s2"), agent="bob", span="0/sub:bob", stream="run-2"),
        entry(HandoffRequested("chain", "ann", "bob"), span="0/handoff:bob"),
    )

    assert set(row.roles) == {"orchestration.task", "system.observability", "delegation.subagent"}
    assert (row.agents, row.events, row.state) == (("ann", "bob"), 5, "Initialized")


def test_a_plain_run_has_a_work_session_without_a_record():
    """E-9: also what nobody opened is listed."""
    row = only(started("I was charged twice"))

    assert (row.title, row.state, row.runs, row.category) == (
        "I was charged twice",
        None,
        ("run-1",),
        "customer_community",
    )


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([started("[Goal] Fix it\nnow", "The parser")], "The parser"),
        ([started("Context first.\n[Goal] Fix the\tparser [Constraints] none")], "Fix the parser"),
        ([started("[goal]:\nFix the parser\nThen rest")], "Fix the parser"),
        ([started("Please look\nat this")], "Please look at this"),
        ([started("Please look", "Work Session")], "Please look"),
        ([started("x" * 100)], "x" * 79 + "…"),
        ([opened("Ship it"), started("do s1")], "Ship it"),
        ([entry(StepStarted("plan_1", "s1"))], "nothing was said yet"),
    ],
)
def test_the_title_says_what_is_worked_on_in_one_line(entries, expected):
    """E-78, E-83: label, then `[Goal]`, then the text; never a bare name."""
    assert only(*entries).title == expected


def test_a_label_that_a_person_gives_wins_over_that_of_a_run():
    """E-83: the label of the record."""
    named = entry(WorkSessionLabelled("Refunds"), stream="ws_1", span="")

    assert only(named, started("hello", "Greeting")).title == "Refunds"
    assert title("", ["Work Session", "hello"]) == "hello"


@pytest.mark.parametrize(
    ("now", "relative"),
    [
        ("2026-01-01T10:00:59.000Z", "just now"),
        ("2026-01-01T10:01:00.000Z", "1 minute ago"),
        ("2026-01-01T12:30:00.000Z", "2 hours ago"),
        ("2026-01-04T10:00:00.000Z", "3 days ago"),
    ],
)
def test_the_subtitle_has_agents_time_and_relative_time(now, relative):
    """E-84: who takes part, when, and how long ago."""
    said = subtitle(["ann", "bob"], "2026-01-01T10:00:00.000Z", now)

    assert said == f"ann, bob · 2026-01-01 10:00 UTC · {relative}"


def test_activity_follows_the_latest_event():
    """E-9: ACTIVE, QUIET after a terminal event, ARCHIVED after 24 h; a new event makes it ACTIVE again."""
    begun, done = started("hello"), entry(ANSWERED, "2026-01-01T10:01")

    assert only(begun).status == "ACTIVE"
    assert only(begun, done).status == "QUIET"
    assert only(begun, done, started("more", stream="run-2")).status == "ACTIVE"
    assert only(begun, now="2026-01-02T10:00").status == "ACTIVE"
    assert only(begun, done, now="2026-01-02T10:02").status == "ARCHIVED"
    assert only(opened("x"), entry(WorkSessionChanged("Cancelled"), stream="ws_1")).status == "QUIET"
    assert only(begun, done, entry(WorkSessionLabelled("x"), stream="ws_1")).status == "QUIET"


def test_the_latest_comes_first():
    rows = WorkList([started("one", ws="ws_1"), started("two", ws="ws_2", at="2026-01-01T10:01")])

    assert [row.title for row in rows.rows("2026-01-01T10:05:00.000Z")] == ["two", "one"]


def test_there_are_ten_categories_with_labels():
    """E-10, E-11: their number is stable."""
    assert len(CATEGORIES) == len(LABELS) == 10
    assert LABELS["docs_knowledge"] == "documents/knowledge"


def test_the_words_of_a_work_session_tell_its_category():
    """E-10, E-11: by rule, with up to three hits as sub-tags and a confidence; finer grain in sub-tags."""
    found = classified("Deploy the servers, watch latency, no outage; then a test", "system.observability")

    assert (found.category, found.category_source) == ("infra_ops", "rule")
    assert (found.sub_tags, found.confidence) == (("deploy", "server", "latency"), 0.67)


@pytest.mark.parametrize(
    ("role", "category"),
    [
        ("orchestration.task", "planning_decision"),
        ("system.observability", "infra_ops"),
        ("conversation.main", "engineering_build"),
        ("delegation.subagent", "engineering_build"),
    ],
)
def test_without_a_telling_word_the_role_decides(role, category):
    """E-10: the fallback, with little confidence."""
    found = classified("hello", role)

    assert (found.category, found.category_source, found.confidence) == (category, "fallback", 0.2)


def test_what_a_person_said_survives_every_reclassification():
    """E-12: categorySource is manual, whatever is said afterwards."""
    said = entry(WorkSessionCategorised("legal_compliance"), stream="ws_1", span="", agent="mia")
    row = only(started("fix the bug in the code"), said, started("deploy the server", stream="run-2"))

    assert (row.category, row.category_source, row.confidence) == ("legal_compliance", "manual", 1.0)
    assert only(started("fix the bug in the code")).category_source == "rule"


def test_the_timeline_has_every_kind_in_order_of_time_with_who():
    """D-30: plan created, step start and completion, tool calls, handoffs, decisions, approvals."""
    plan = Plan("plan_1", "ann", "Ship\nit", ())
    happened = [
        opened("Ship it"),
        entry(PlanCreated(plan, "", "contract"), "2026-01-01T10:01"),
        entry(StepCompleted("plan_1", "s1", success=True), "2026-01-01T10:06", agent="bob"),
        entry(StepStarted("plan_1", "s1"), "2026-01-01T10:02", agent="bob"),
        entry(ToolStarted(1, 1, "shell", {}, "once", "exec", "", ""), "2026-01-01T10:04", agent="bob"),
        entry(ApprovalRequested("ap_1", 1, 1, "shell", {}, "", "high"), "2026-01-01T10:03", agent="bob"),
        entry(HandoffRequested("ownership", "bob", "cy"), "2026-01-01T10:05"),
        entry(StepStarted("plan_2", "s9"), "2026-01-01T10:05", ws="ws_2"),
    ]

    lines = [(each.kind, each.agent_id, each.text) for each in work_timeline("ws_1", happened)]

    assert lines == [
        ("work session", "user", "user opens the work session: Ship it"),
        ("plan", "ann", "ann makes a plan: Ship it"),
        ("step", "bob", "bob starts step s1"),
        ("approval", "bob", "bob waits for somebody to approve shell: ap_1"),
        ("tool", "bob", "bob calls shell"),
        ("handoff", "ann", "bob hands over to cy (ownership)"),
        ("step", "bob", "bob completes step s1"),
    ]
