"""Work sessions: their states, their teams and what is kept with them, through the desk."""

import json

import pytest

from folkmoot import FakeClock, MemoryJournal
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.work_sessions import (
    WorkSessions,
    becoming,
    categorised,
    completed,
    labelled,
    paused,
    resumed,
)
from folkmoot.coordination.work_teams import Seat, compose, narrowed, refusal
from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.work_session import Member, Policy, Roster, WorkSession, WorkSessionOpened
from folkmoot.errors import WrongUse
from folkmoot.ports import Query


def agent(id: str, role: str, *capabilities: str) -> Agent:
    return Agent(id, f"{id}.ai", "", role=role, capabilities=capabilities)  # type: ignore[arg-type]


AGENTS = [
    agent("ann", "lead"),
    agent("pam", "planner"),
    agent("bob", "worker", "python", "sql"),
    agent("cy", "worker", "python"),
    agent("rex", "reviewer", "python"),
]
TEAM = [Seat("lead"), Seat("planner"), Seat("worker"), Seat("reviewer")]
GRAPH = Graph({agent.file: agent for agent in AGENTS})


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def desk(journal: MemoryJournal) -> WorkSessions:
    return Moot(journal, FakeClock(), GRAPH).work_sessions


async def opened(desk: WorkSessions, goal: str = "Ship the parser") -> WorkSession:
    return await desk.open(WorkSessionOpened(goal, constraints=("by Friday",)), Author("mia"), chance="a die")


async def test_a_work_session_has_an_id_a_goal_constraints_and_a_history(desk):
    """D-1, U-1: the work session as its record tells it; its id is `ws_<uuid>`."""
    record = await opened(desk)

    assert record.id.startswith("ws_")
    assert [len(part) for part in record.id[3:].split("-")] == [
        8,
        4,
        4,
        4,
        12,
    ]
    assert (record.goal, record.constraints, record.created_by) == ("Ship the parser", ("by Friday",), "mia")
    assert [(change.state, change.by) for change in record.history] == [("Initialized", "mia")]
    assert await desk.get(record.id) == record


async def test_a_work_session_without_a_goal_is_refused(desk):
    with pytest.raises(WrongUse, match=r"needs a goal"):
        await opened(desk, " ")


async def test_the_states_follow_one_another_and_the_history_tells_who_and_why(desk):
    """D-12: every state on the way to the end, a reopened step included."""
    id = (await opened(desk)).id
    await desk.form(id, TEAM)
    for state in ("Planning", "Executing", "Reviewing"):
        await desk.change(id, becoming(state))
    await desk.change(id, becoming("Executing", "step 2 reopened"), Author("rex"))
    await desk.change(id, becoming("Reviewing"))
    record = await desk.change(id, completed("It ships.", ("decision_1",)))

    states = [change.state for change in record.history]
    assert states == [
        *("Initialized", "TeamFormed", "Planning", "Executing", "Reviewing"),
        *("Executing", "Reviewing", "Completed"),
    ]
    assert (record.history[5].by, record.history[5].reason) == ("rex", "step 2 reopened")
    assert (record.summary, record.decisions, record.ended) == ("It ships.", ("decision_1",), True)


@pytest.mark.parametrize("wanted", ["Planning", "Executing", "Reviewing", "Completed"])
async def test_an_illegal_jump_is_refused_with_the_ways_that_are_open(desk, journal, wanted):
    """D-12: Initialized → Executing is refused, and nothing is recorded."""
    id = (await opened(desk)).id

    with pytest.raises(
        WrongUse, match=r"is Initialized; it cannot become .* only TeamFormed or Cancelled or Error"
    ):
        await desk.change(id, becoming(wanted))

    assert len([entry async for entry in journal.read(Query())]) == 1


async def test_nothing_follows_an_end(desk):
    """D-12: Completed, Cancelled and Error are ends."""
    id = (await opened(desk)).id
    await desk.change(id, becoming("Cancelled", "no longer wanted"))

    for refused in (becoming("Planning"), completed("x"), paused()):
        with pytest.raises(
            WrongUse, match=rf"is Cancelled; open another: folkmoot work open \"…\" --previous {id}"
        ):
            await desk.change(id, refused)


async def test_a_team_is_not_claimed_but_formed_and_completion_needs_a_summary(desk):
    id = (await opened(desk)).id
    with pytest.raises(WrongUse, match=r"has no team yet; form one"):
        await desk.change(id, becoming("TeamFormed"))
    await desk.form(id, TEAM)
    for state in ("Planning", "Executing", "Reviewing"):
        await desk.change(id, becoming(state))

    with pytest.raises(WrongUse, match=r"completed with a summary"):
        await desk.change(id, becoming("Completed"))
    with pytest.raises(WrongUse, match=r"completed with a summary"):
        await desk.change(id, completed(" "))


def test_a_team_is_composed_by_role_and_capability():
    """D-13, D-2: the members with their roles, capabilities and policies."""
    seats = [
        Seat("lead"),
        Seat("worker", policy=Policy(actions=("execute",))),
        Seat("worker", ("sql",)),
        Seat(capabilities=("python",)),
    ]

    team = compose(seats, AGENTS, "parsers")

    # cy sits before bob, though bob comes first: only bob can do sql
    assert [(member.agent, member.role) for member in team.members] == [
        *(("ann", "lead"), ("cy", "worker"), ("bob", "worker"), ("rex", "reviewer")),
    ]
    assert (team.name, team.members[1].policy) == ("parsers", Policy(actions=("execute",)))


@pytest.mark.parametrize(
    ("seat", "said"),
    [
        (
            Seat("specialist"),
            "lacks a specialist: no agent is one; there are ann: lead; pam: planner; bob: worker, py",
        ),
        (Seat("worker", ("rust",)), "lacks a worker able to rust: no agent is one"),
        (Seat("lead"), r"lacks a lead: every one has another seat \(ann\)"),
        (Seat(agent="zoe"), "no agent 'zoe'"),
    ],
)
def test_a_seat_that_nobody_can_take_is_named_with_who_there_is(seat, said):
    """D-13: asking for a role without a capable agent is an error."""
    with pytest.raises(WrongUse, match=said):
        compose([Seat("lead"), seat], AGENTS)


async def test_the_composition_is_kept_with_the_work_session(desk, journal):
    """D-13, D-27: whoever opens the journal again finds the team."""
    id = (await opened(desk)).id
    formed = await desk.form(id, TEAM, name="parsers")

    again = await Moot(journal, FakeClock(), GRAPH).work_sessions.get(id)

    assert again == formed
    assert again.team is not None
    assert (again.team.id, again.team.name) == (f"team_{id}", "parsers")
    assert again.team.in_role("planner") == ("pam",)


async def test_a_member_that_acts_outside_its_policy_is_refused_and_that_is_recorded(desk, journal):
    """D-36: refused and logged, with who, what and why."""
    id = (await opened(desk)).id
    record = await desk.form(id, [Seat("lead"), Seat("worker", policy=Policy(actions=("execute", "vote")))])

    await desk.require(id, "bob", "vote")
    with pytest.raises(WrongUse, match=r"bob may not plan in .*; its team lets it execute, vote"):
        await desk.require(id, "bob", "plan")
    with pytest.raises(WrongUse, match=r"pam does not belong to the team of .*, which is ann, bob"):
        await desk.require(id, "pam", "plan")

    refused = [e.event async for e in journal.read(Query(types=("work_session.refused",)))]
    assert [(event.agent, event.action) for event in refused] == [("bob", "plan"), ("pam", "plan")]
    assert not refusal(record, "ann", "decide")
    assert refusal(record, "bob", "decide")


async def test_without_a_team_anybody_may_do_anything(desk):
    record = await opened(desk)

    assert not refusal(record, "bob", "plan")
    await desk.require("ws_of_a_plain_run", "bob", "plan")


@pytest.mark.parametrize(
    ("step", "member", "both"),
    [
        (None, None, None),
        (None, ("files.*",), ("files.*",)),
        (("shell",), None, ("shell",)),
        (("files.*", "shell"), ("files.read", "web.fetch"), ("files.read",)),
        (("files.read", "shell"), ("files.*",), ("files.read",)),
        (("shell",), ("files.*",), ()),
    ],
)
def test_a_member_uses_only_tools_that_its_team_and_the_step_allow(step, member, both):
    """D-36: policies only narrow."""
    team = Roster((Member("bob", "worker", (), Policy(tools=member)),))
    assert narrowed(StepPolicy(tools=step), team, "bob").tools == both


async def test_pausing_and_going_on_are_recorded_once(desk, journal):
    """D-10: control of a work session, with the reason."""
    id = (await opened(desk)).id
    for _ in range(2):
        record = await desk.change(id, paused("the budget is checked"), Author("mia"))
    assert (record.paused, record.pause_reason) == (True, "the budget is checked")

    for _ in range(2):
        record = await desk.change(id, resumed)
    assert (record.paused, record.pause_reason) == (False, "")

    types = [entry.event.type async for entry in journal.read(Query())]
    assert types == ["work_session.opened", "work_session.paused", "work_session.resumed"]


async def test_artifacts_are_kept_with_kind_title_and_content(desk, journal):
    """D-6, D-20: code diffs, docs, logs and test results, retrievable after the end."""
    id = (await opened(desk)).id
    await desk.add_artifact(id, "code_diff", "parser.py", b"+ parse()", Author("bob"))
    record = await desk.add_artifact(id, "test_result", "12 passed", b"............", Author("rex"))

    assert [(each.kind, each.title, each.by) for each in record.artifacts] == [
        ("code_diff", "parser.py", "bob"),
        ("test_result", "12 passed", "rex"),
    ]
    assert await journal.artifact(record.artifacts[0].artifact) == b"+ parse()"


async def test_snapshots_are_numbered_kept_for_good_and_taken_once(desk, journal):
    """D-29, U-10: one after the plan and one for each completed step; again after a crash it is the same one."""
    id = (await opened(desk)).id
    await desk.snapshot(id, "plan_committed", "plan_1")
    for step in ("s1", "s2", "s2"):
        record = await desk.snapshot(id, "step_completed", "plan_1", step, {"done": [step]})

    assert [(each.sequence, each.reason, each.step) for each in record.snapshots] == [
        (1, "plan_committed", ""),
        (2, "step_completed", "s1"),
        (3, "step_completed", "s2"),
    ]
    kept = json.loads(await journal.artifact(record.snapshots[1].artifact))
    assert (kept["snapshotId"], kept["state"]) == (record.snapshots[1].id, {"done": ["s1"]})
    assert kept["workSession"]["goal"] == "Ship the parser"


async def test_a_plain_runs_work_session_can_be_named_and_categorised(desk):
    """E-12: the override is kept with who and when; an unknown category is refused with those there are."""
    await desk.change("ws_plain", labelled("Refunds"))
    record = await desk.change("ws_plain", categorised("legal_compliance"), Author("mia"))

    assert (record.label, record.category, record.categorised_by) == ("Refunds", "legal_compliance", "mia")
    with pytest.raises(WrongUse, match=r"no category 'cooking'; they are engineering_build, infra_ops"):
        await desk.change("ws_plain", categorised("cooking"))  # type: ignore[arg-type]
