"""Members of a team that lead a team of their own, route, or have advisors and agents: patterns nest without a limit."""

import re

import pytest

from folkmoot.views.optree import sessions
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import rows
from tests.desk import blocks, look
from tests.fakes import fake
from tests.orchestration.test_team import BROKEN, heard, left, sections, spans

LOOK = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
FILES = {
    "board": "team: {members: [build.ai, sales.ai]}",
    "build": "team: {members: [coder.ai, tester.ai]}\nadvisors: [law.ai]",
    "sales": "router: {destinations: [prices.ai]}\nagents: [clerk.ai]",
    "coder": "tools: [look]\nadvisors: [style.ai]",
    **dict.fromkeys(("tester", "law", "style", "prices", "clerk"), ""),
}
COUNT = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}]}
SAID = {
    "coder": [LOOK, {"broadcast": "wrote it"}, {"broadcast": "fixed it"}, {"broadcast": "shipped it"}],
    "tester": [{"broadcast": "line 3 fails"}, left("all green")],
    "build": [{"broadcast": "fix line 3"}, {"report": "it works"}, {"report": "it is shipped"}],
    "sales": [COUNT, {"route": {"agent": "prices", "message": "cheap"}}, left("sold")],
    "prices": ["9 EUR"],
    "clerk": ["3"],
    "law": ["by law"],
    "style": ["tabs"],
    "board": [{"broadcast": "ship and sell"}, {"report": "all is well"}],
}


async def test_a_team_within_a_team_reports_to_the_outer_one_and_goes_on(desk):
    """A-30, O-48, K-122: its lead's report is its broadcast; conversations go on over all cycles of the outer team."""
    played = await desk(FILES, SAID, tools=[look]).run("board", "make it")

    assert played.report == "all is well"
    assert sections(heard(played, "board")[0][0]) == [
        ("build", "### build: update 1\n\nit works"),
        ("sales", "### sales: update 2\n\n9 EUR"),
    ]
    assert [agent for agent, _ in sections(heard(played, "board")[1][0])] == ["build", "sales"]
    assert sorted(spans(played, "session.started")) == [
        "0/lead/cycle:1",
        "0/lead/cycle:2",
        "0/member:build/advisor:law",
        "0/member:build/lead/cycle:1",
        "0/member:build/lead/cycle:2",
        "0/member:build/lead/cycle:3",
        "0/member:build/member:coder/advisor:style",
        "0/member:build/member:coder/cycle:1",
        "0/member:build/member:coder/cycle:2",
        "0/member:build/member:coder/cycle:3",
        "0/member:build/member:tester/cycle:1",
        "0/member:build/member:tester/cycle:2",
        "0/member:sales/cycle:1",
        "0/member:sales/cycle:1/route:prices",
        "0/member:sales/cycle:1/turn:1/call:1",
        "0/member:sales/cycle:2",
    ]


async def test_what_is_said_in_an_inner_team_stays_there_and_what_is_said_outside_comes_in(desk):
    """A-76, A-84, A-91, O-48: the outer team reads reports alone; the inner one reads the outer news once."""
    played = await desk(FILES, SAID, tools=[look]).run("board", "make it")

    outside = " ".join(text for name in ("board", "sales") for news in heard(played, name) for text in news)
    assert not [word for word in ("wrote it", "line 3", "all green") if word in outside]
    first, *_, third = heard(played, "coder")
    assert [tag for tag, _, _ in blocks(first[0])] == ["original_user_request", "advisory", "advisory"]
    assert [(tag, agent) for tag, agent, _ in blocks(third[0])] == [
        ("response", "build"),
        ("broadcast", "sales"),
        ("broadcast", "board"),
        ("broadcast", "tester"),
    ]
    news = heard(played, "build")[2][0]
    assert [agent for _, agent, _ in blocks(news)] == ["build", "sales", "board", "coder"]
    assert len(played.model.heard_from("tester")) == 2  # it has left, A-83


async def test_a_conversation_that_ended_with_a_report_or_a_route_goes_on_as_providers_want_it(desk):
    """A-75, O-48: every call has its result; the router reads what its destination answered in its name."""
    played = await desk(FILES, SAID, tools=[look]).run("board", "make it")

    for agent in ("build", "sales"):
        said = played.model.heard_from(agent)[-1].messages
        called = [call.id for message in said for call in message.calls]
        assert called == [message.answers for message in said if message.role == "tool"]
    assert blocks(heard(played, "sales")[-1][0])[0] == ("response", "prices", "9 EUR")
    assert blocks(played.prompt("prices")) == [
        ("original_user_request", "", "make it"),
        ("advisory", "sales", "cheap"),
    ]


async def test_a_member_may_route_in_a_later_cycle_too(desk):
    """A-30, A-40, O-3: the destination reads the user's own text and what its router had just read."""
    files = {"board": "team: {members: [sales.ai]}", "sales": FILES["sales"], "prices": "", "clerk": ""}
    script = {"sales": ["hm", {"route": "prices"}], "prices": ["9 EUR"]}
    script |= {"board": [{"broadcast": "sell"}, {"report": "ok"}]}
    played = await desk(files, script).run("board", "make it")

    assert played.offered("sales") == ["agent__clerk", "router__handoff-to", "team__broadcast"]
    assert [(tag, agent) for tag, agent, _ in blocks(played.prompt("prices"))] == [
        ("original_user_request", ""),
        ("broadcast", "board"),
    ]
    assert played.events("team.broadcast")[-1].message == "9 EUR"


async def test_session_ids_budgets_stamps_and_totals_hold_in_an_inner_team(desk):
    """O-28, A-104, O-33: one budget over all parts (an advisor shares it), one agent for each conversation, every tool call counted."""
    files = {**FILES, "coder": FILES["coder"] + "\nbudget: {requests: 4}"}
    played = await desk(files, SAID, tools=[look]).run("board", "make it")

    ids = {draft.session_id for draft in played.drafts}
    kinds = "sub|advisor|route|member|lead"
    assert all(re.fullmatch(rf"run-1(:({kinds})_[a-z]+_[0-9a-f]{{8}})*", id) for id in ids)
    assert len(played.model.heard_from("coder")) == 3
    assert "4 requests of 'coder'" in played.events("team.member_failed")[0].reason
    assert played.report == "all is well"
    assert played.result.totals.agents_run == played.result.op_tree.totals.agents_run == 9
    runtimes = re.findall(r'agent="(\w+)" runtime="([^"]*)"', heard(played, "board")[0][0])
    assert runtimes == [("build", "1 tool call"), ("sales", "0 tool calls")]


async def test_an_inner_team_without_members_leaves_the_outer_one_with_its_report(desk):
    """O-46, O-48, A-74: it is over; the outer lead has no member left either."""
    files = {"board": "team: {members: [build.ai]}", "build": "team: {members: [coder.ai]}", "coder": ""}
    script = {"coder": [left("done")], "build": [{"broadcast": "more"}, {"report": "built"}], "board": ["ok"]}
    played = await desk(files, script).run("board")

    assert played.report == "ok"
    assert [event.member_id for event in played.events("team.member_exited")] == ["coder", "build"]
    assert "No member is left." in heard(played, "board")[0][0]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"build": [BROKEN]}, "'build' failed (lead): no model answered"),
        ({"prices": [BROKEN]}, "route to 'prices' failed (stage 2 of sales -> prices): no model answered"),
    ],
)
async def test_an_inner_team_or_a_destination_that_fails_is_a_failed_member(desk, said, reason):
    """A-82, K-125: it fails nobody else, and the reason names who failed."""
    played = await desk(FILES, SAID | said, tools=[look]).run("board")

    assert played.report == "all is well"
    assert played.events("team.member_failed")[-1].reason.startswith(reason)


async def test_the_turns_of_a_member_bound_the_lead_of_its_team(desk):
    """A-81: `memberMaxTurns` of the outer team."""
    files = {**FILES, "board": "team: {members: [build.ai, sales.ai], memberMaxTurns: 2}"}
    played = await desk(files, SAID, tools=[look]).run("board")

    assert len(played.model.heard_from("build")) == 2
    assert "it has no turn left; its limit is 2" in [e.reason for e in played.events("team.member_failed")]


async def test_cancelling_stops_the_sessions_of_an_inner_team(desk):
    """A-112, O-48."""
    at = desk(FILES, SAID | {"coder": [{"delay": "1h", "text": "late"}]}, tools=[look])
    played = await at.cancelled("board", "no more")

    assert played.result.status == "cancelled"
    assert spans(played, "session.cancelled") == ["0/member:build/member:coder/cycle:1"]
    assert [event.members for event in played.events("team.cancelled")] == [
        ("coder", "tester"),
        ("build", "sales"),
    ]


async def test_the_trees_show_an_inner_team_below_its_member(desk):
    """A-105, A-106, O-48."""
    played = await desk(FILES, SAID, tools=[look]).run("board")

    drawn = [row.guide + row.branch.agent for row in rows(RunTree(played.drafts).root)]
    assert drawn == [
        "board",
        "├─ law",
        "├─ build",
        "│  ├─ style",
        "│  ├─ coder",
        "│  ├─ tester",
        "│  └─ build",
        "├─ sales",
        "│  ├─ clerk",
        "│  └─ prices",
        "└─ board",
    ]
    assert {row.branch.status for row in rows(RunTree(played.drafts).root)} == {"completed"}
    nodes = [(node.agent_id, node.cause) for node in sessions(played.result.op_tree)]
    assert nodes.count(("build", "member")) == 2
    assert all(node.success for node in sessions(played.result.op_tree))
    assert [(team.span, team.lead) for team in played.result.teams] == [
        ("0", "board"),
        ("0/member:build", "build"),
    ]
    assert [said.member_id for said in played.result.teams[1].broadcasts] == [
        "coder",
        "tester",
        "build",
        "coder",
        "tester",
        "coder",
    ]


DEEP = {
    "top": "team: {members: [board.ai]}",
    **FILES,
    "build": "team: {members: [coder.ai, tester.ai], supervisor: boss.ai}",
    "boss": "router: {destinations: [clerk.ai]}",
}
DEEP_SAID = SAID | {
    "top": [{"broadcast": "again"}, {"report": "done"}],
    "board": ["so far", {"broadcast": "once more"}, {"report": "all is well"}],
    "boss": [{"broadcast": "fix line 3"}, {"report": "it works"}, {"route": "clerk"}, {"report": "late"}],
    "clerk": ["3"],
}


@pytest.mark.parametrize(("root", "files", "said"), [("board", FILES, SAID), ("top", DEEP, DEEP_SAID)])
async def test_teams_in_teams_cut_after_any_event_continue_to_the_same_end(desk, root, files, said):
    """A-30, O-48, DESIGN 4: nothing is read twice, nobody speaks twice."""
    whole = await desk(files, said, tools=[look]).run_cut_anywhere(root)
    assert whole.result.success


pay = fake("pay(to)", "paid {to}", access="write", asks="high")


async def test_an_approval_and_a_kept_child_of_an_inner_member_end_as_everywhere(desk):
    """O-22, A-102: the run waits and goes on where it was; nobody who can be asked is left behind."""
    files = {**FILES, "coder": "tools: [pay]\nagents: [clerk.ai]", "clerk": "chat: true"}
    paying = {"calls": [{"tool": "pay", "arguments": {"to": "x"}}]}
    script = SAID | {"coder": [COUNT, paying, {"broadcast": "paid"}, "more", "still more"]}
    at = desk(files, script, tools=[pay])
    async with at.open() as moot:
        waiting = await moot.run("board", "make it")
        [item] = [item for item in await moot.inbox("run-1") if item.is_open]
        await moot.reply(item.approve())
        played = await at.played(await moot.resume("run-1"))

    assert waiting.status == "waiting"
    assert item.span == "0/member:build/member:coder/cycle:1"
    assert played.report == "all is well"
    frozen, destroyed = (
        {event.session for event in played.events(type)} for type in ("session.frozen", "session.destroyed")
    )
    assert len(frozen) == 2
    assert destroyed == frozen
