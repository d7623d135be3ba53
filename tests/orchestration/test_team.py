"""Teams: members in parallel under a lead, cycle by cycle."""

import asyncio

import pytest

from folkmoot import Folkmoot, Surroundings
from tests.desk import blocks, look
from tests.fakes import fake

FILES = {"chief": "team: {members: [coder.ai, tester.ai]}", "coder": "", "tester": ""}
SAID = {
    "coder": [{"broadcast": "wrote it"}, {"broadcast": "fixed it"}],
    "tester": [{"broadcast": "line 3 fails"}, {"broadcast": "all green"}],
    "chief": [{"broadcast": "fix line 3"}, {"report": "it is done"}],
}
BROKEN = {"error": {"message": "no such model", "retryable": False}}


def left(message, outcome="success"):
    return {"broadcast": {"message": message, "final": True, "outcome": outcome}}


def heard(played, agent):
    """The user messages that came to an agent, request by request: only what was new to each."""
    seen, news = 0, []
    for request in played.model.heard_from(agent):
        news.append([message.text for message in request.messages[seen:] if message.role == "user"])
        seen = len(request.messages)
    return news


def sections(text):
    return [(agent, said) for tag, agent, said in blocks(text) if tag == "broadcast"]


def spans(played, type):
    return [draft.span for draft in played.drafts if draft.event.type == type]


async def test_members_then_lead_then_members_again_until_the_lead_reports(desk):
    """A-70, A-78, A-79, O-24, U-3: the lead's first request holds all broadcasts."""
    played = await desk(FILES, SAID).run("chief", "make it work")

    assert played.report == "it is done"
    assert played.result.final_agent_id == "chief"
    assert spans(played, "session.started") == [
        "0/member:coder/cycle:1",
        "0/member:tester/cycle:1",
        "0/lead/cycle:1",
        "0/member:coder/cycle:2",
        "0/member:tester/cycle:2",
        "0/lead/cycle:2",
    ]
    assert heard(played, "coder")[0] == heard(played, "tester")[0] == ["make it work"]
    assert blocks(heard(played, "chief")[0][0]) == [
        ("original_user_request", "", "make it work"),
        ("broadcast", "coder", "### coder: update 1\n\nwrote it"),
        ("broadcast", "tester", "### tester: update 2\n\nline 3 fails"),
    ]


async def test_the_members_of_a_cycle_work_at_the_same_time(desk):
    """A-71, X-A13: none goes on before both are under way."""
    meet = {"barrier": "here/2", "broadcast": "hello"}
    played = await desk(FILES, {"coder": [meet], "tester": [meet], "chief": [{"report": "ok"}]}).run("chief")

    assert played.report == "ok"


async def test_a_conversation_goes_on_with_only_what_is_new_from_the_others(desk):
    """A-75, A-76, A-84, A-91, A-111, U-11, U-13: never its own words, each of the others' once, in order."""
    played = await desk(FILES, SAID).run("chief")

    first, second = played.model.heard_from("coder")
    assert second.messages[: len(first.messages)] == first.messages
    assert sections(second.messages[-1].text) == [
        ("tester", "### tester: update 2\n\nline 3 fails"),
        ("chief", "### chief: update 3\n\nfix line 3"),
    ]
    asked, answered = second.messages[-3:-1]
    assert [call.id for call in asked.calls] == [answered.answers]
    assert 0 < len(answered.text) < 80
    [news] = heard(played, "chief")[1]
    assert [agent for agent, _ in sections(news)] == ["coder", "tester"]
    assert [tag for tag, _, _ in blocks(news)] == ["broadcast", "broadcast"]


async def test_members_have_a_broadcast_and_never_a_final_report(desk):
    """A-72, A-73, A-81, X-A8: also in their last turn, and no turn more than `memberMaxTurns`."""
    files = {**FILES, "chief": "team: {members: [coder.ai], memberMaxTurns: 2}", "coder": "tools: [look]"}
    looking = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
    played = await desk(files, {"coder": [looking, looking], "chief": ["over"]}, tools=[look]).run("chief")

    assert [played.offered("coder", n) for n in range(2)] == [
        ["look", "team__broadcast"],
        ["team__broadcast"],
    ]
    assert len(played.model.heard_from("coder")) == 2
    assert [event.reason for event in played.events("team.member_failed")] == [
        "the model gave no broadcast within 2 turns"
    ]


async def test_a_member_may_take_several_turns_before_it_broadcasts_and_the_lead_waits(desk):
    """A-78, A-85."""
    files = {**FILES, "coder": "tools: [look]"}
    looking = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
    script = {"coder": [looking, looking, "at last"], "tester": ["quick"], "chief": ["ok"]}
    played = await desk(files, script, tools=[look]).run("chief")

    assert [request.agent for request in played.model.heard][-1] == "chief"
    assert [event.turn_count for event in played.events("team.broadcast")] == [1, 3]
    assert sections(heard(played, "chief")[0][0])[0] == ("coder", "### coder: update 1\n\nat last")


async def test_plain_text_is_adopted_as_a_broadcast_and_an_empty_answer_is_not(desk):
    """O-24."""
    played = await desk(FILES, {"coder": ["", "words"], "tester": ["more"], "chief": ["ok"]}).run("chief")

    assert "team__broadcast" in heard(played, "coder")[1][0]
    assert [event.message for event in played.events("team.broadcast")] == ["more", "words"]


async def test_the_record_of_a_broadcast_says_who_what_when_and_in_which_order(desk):
    """A-77, O-2, X-A15."""
    played = await desk(FILES, SAID | {"coder": [left("done"), "?"]}).run("chief")

    team = played.result.to_json()["teams"][0]
    assert (team["span"], team["lead"], team["members"]) == ("0", "chief", ["coder", "tester"])
    assert [said["order"] for said in team["broadcasts"]] == [1, 2, 3, 5]
    assert team["broadcasts"][0] == {
        "order": 1,
        "memberId": "coder",
        "type": "update",
        "message": "done",
        "turnCount": 1,
        "timestamp": played.drafts[0].ts,
        "terminal": True,
        "outcome": "success",
    }


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"message": " "}, "message is empty"),
        ({}, "missing required field `message`"),
        ({"message": "m", "outcome": "success"}, "outcome belongs to a final broadcast"),
        ({"message": "m", "final": True, "outcome": "maybe"}, "Invalid enum value"),
        ({"message": "m", "to": "tester"}, "unknown field `to`"),
    ],
)
async def test_a_wrong_broadcast_is_refused_and_may_be_mended(desk, arguments, why):
    """O-2."""
    wrong = {"calls": [{"tool": "team__broadcast", "arguments": arguments}]}
    script = {"coder": [wrong, "right"], "tester": ["x"], "chief": ["ok"]}
    played = await desk(FILES, script).run("chief")

    assert why in played.model.heard_from("coder")[1].messages[-1].text
    assert played.report == "ok"


async def test_of_two_broadcasts_in_one_turn_the_first_is_sent_and_the_other_is_told_so(desk):
    """A-75."""
    two = {"calls": [{"tool": "team__broadcast", "arguments": {"message": word}} for word in ("a", "b")]}
    played = await desk(FILES, SAID | {"coder": [two, "c"]}).run("chief")

    results = [m.text for m in played.model.heard_from("coder")[1].messages if m.role == "tool"]
    assert results[0].startswith("Sent.")
    assert results[1].startswith("(not sent: ")


async def test_a_member_that_is_done_leaves_and_the_others_are_told_once(desk):
    """A-74, A-83: it is never asked again."""
    played = await desk(FILES, SAID | {"coder": [left("my part is done")]}).run("chief")

    assert len(played.model.heard_from("coder")) == 1
    notice = "coder has left the team and can no longer be reached."
    for agent in ("tester", "chief"):
        told = "\n".join(text for news in heard(played, agent) for text in news)
        assert told.count(notice) == 1
    assert [event.member_id for event in played.events("team.member_exited")] == ["coder"]


@pytest.mark.parametrize(
    ("said", "reason"), [(BROKEN, "no such model"), (left("I cannot", "failure"), "I cannot")]
)
async def test_a_member_that_fails_is_no_longer_in_the_team_and_fails_nobody_else(desk, said, reason):
    """A-82, A-83: the fixed text reaches the lead and the peers."""
    played = await desk(FILES, SAID | {"coder": [said]}).run("chief")

    assert played.report == "it is done"
    for agent in ("tester", "chief"):
        told = "\n".join(text for news in heard(played, agent) for text in news)
        assert told.count("member coder failed and is no longer in the team. Reason: ") == 1
        assert reason in told
    failure = played.events("team.broadcast")[0]
    assert (failure.kind, failure.terminal, failure.outcome) == ("failure", True, "failure")
    assert len(played.model.heard_from("coder")) == 1


async def test_a_member_without_turns_left_fails_when_it_would_have_to_go_on(desk):
    """A-81, A-82: what it said in its last turn still counts."""
    files = {**FILES, "chief": "team: {members: [coder.ai, tester.ai], memberMaxTurns: 1}"}
    played = await desk(files, SAID).run("chief")

    assert len(played.model.heard_from("coder")) == len(played.model.heard_from("tester")) == 1
    assert [event.reason for event in played.events("team.member_failed")] == [
        "it has no turn left; its limit is 1"
    ] * 2
    [news] = heard(played, "chief")[1]
    assert "member tester failed and is no longer in the team." in news
    assert "No member is left." in news
    assert played.offered("chief", 1) == ["agent__final_report"]


async def test_the_leads_report_lets_the_remaining_members_go(desk):
    """A-79: whoever had left already is not among them."""
    played = await desk(FILES, SAID | {"coder": [left("done")], "chief": [{"report": "enough"}]}).run("chief")

    assert played.report == "enough"
    [let_go] = played.events("team.cancelled")
    assert (let_go.members, let_go.reason) == (("tester",), "the lead chief has reported")
    assert len(played.model.heard_from("tester")) == 1


async def test_a_lead_that_uses_up_its_turns_ends_the_team_with_a_failure(desk):
    """A-80, A-81: in the last turn it can only report, so that its broadcast is refused."""
    files = {**FILES, "chief": "team: {members: [coder.ai, tester.ai], supervisorMaxTurns: 1}"}
    played = await desk(files, SAID).run("chief")

    assert played.offered("chief") == ["agent__final_report"]
    assert (played.result.status, played.result.stop_reason) == ("failed", "MAX_TURNS")
    assert played.events("team.cancelled")[0].members == ("coder", "tester")
    assert len(played.model.heard_from("coder")) == 1


STRAY = {"calls": [{"tool": "nothing"}]}
ON = {"broadcast": "go on"}


@pytest.mark.parametrize(
    "slips",
    [
        [STRAY, {"report": {"b": 1}}, "no JSON", "", ON],
        [{"calls": [{"tool": "look", "arguments": {"where": "x"}}]}],
    ],
)
async def test_a_lead_without_members_mends_its_report_while_it_has_turns(desk, slips):
    """A-81, O-46, K-120: only exits are offered, whatever went wrong in the turn before."""
    schema = "output: {format: json, schema: {type: object, required: [a]}}\ntools: [look]"
    files = {"chief": f"team: {{members: [coder.ai], supervisorMaxTurns: 6}}\n{schema}", "coder": ""}
    script = {"coder": [left("done")], "chief": [*slips, {"report": {"a": 1}}]}
    played = await desk(files, script, tools=[look]).run("chief")

    assert played.report == '{"a":1}'
    assert [played.offered("chief", n) for n in range(len(slips) + 1)] == [["agent__final_report"]] * (
        len(slips) + 1
    )
    assert "No member is left." in heard(played, "chief")[0][0]


async def test_a_lead_without_members_that_uses_up_its_turns_fails(desk):
    """A-80, A-81, O-46: turns of earlier cycles count too."""
    files = {**FILES, "chief": "team: {members: [coder.ai, tester.ai], supervisorMaxTurns: 3}"}
    script = {
        "coder": ["a", left("b")],
        "tester": [left("c")],
        "chief": [ON, STRAY, STRAY, {"report": "late"}],
    }
    played = await desk(files, script).run("chief")

    assert played.result.error == "'chief' failed (lead): the model gave no final report within 3 turns"
    assert len(played.model.heard_from("chief")) == 3


async def test_the_lead_bounds_the_number_of_cycles(desk):
    """A-89: max rounds."""
    said = {"turns": [{"broadcast": "on"}], "repeat": True}
    files = {**FILES, "chief": "team: {members: [coder.ai, tester.ai], supervisorMaxTurns: 4}"}
    played = await desk(files, {"coder": said, "tester": said, "chief": said}).run("chief")

    assert played.result.stop_reason == "MAX_TURNS"
    assert [len(played.model.heard_from(agent)) for agent in FILES] == [4, 4, 4]


async def test_a_team_of_eight_gives_everyone_a_turn_in_every_cycle_and_ends_in_consensus(desk):
    """A-89: nobody starves; all eight are under way together, and leave together."""
    names = [f"m{n}" for n in range(8)]
    files = {"chief": f"team: {{members: [{', '.join(f'{name}.ai' for name in names)}]}}"}
    files |= dict.fromkeys(names, "")
    script = {
        name: [
            {"barrier": "one/8", "broadcast": f"{name} leans to yes"},
            {"barrier": "two/8", **left(f"{name} votes yes")},
        ]
        for name in names
    }
    played = await desk(files, script | {"chief": [{"broadcast": "vote"}, {"report": "yes"}]}).run("chief")

    assert played.report == "yes"
    assert [len(played.model.heard_from(name)) for name in names] == [2] * 8
    assert len(sections(heard(played, "chief")[0][0])) == 8
    assert len(sections(heard(played, "m3")[1][0])) == 8
    assert played.events("team.cancelled") == []


async def test_another_agent_may_lead_and_reads_the_files_body_as_its_brief(desk):
    """O-4."""
    files = {
        "review": "---\nteam: {members: [coder.ai], supervisor: boss.ai}\n---\nReview with care.",
        "boss": "---\ndescription: b\n---\nYou decide.",
        "coder": "",
    }
    played = await desk(files, {"coder": ["x"], "boss": [{"report": "fine"}]}).run("review")

    assert played.result.final_agent_id == "boss"
    assert played.model.heard_from("boss")[0].messages[0].text == "Review with care.\n\nYou decide."
    assert played.model.heard_from("coder")[0].messages[0].text == "You are coder."
    assert played.model.heard_from("review") == []


async def test_advisors_and_a_handoff_stand_around_a_team_as_around_a_session(desk):
    """O-1, A-107: everyone reads the advice; the members' own advisors speak only to them."""
    files = {
        "chief": "advisors: [law.ai]\nteam: {members: [coder.ai, tester.ai]}\nhandoff: editor.ai",
        "coder": "advisors: [style.ai]",
        **dict.fromkeys(("tester", "law", "style", "editor"), ""),
    }
    said = {"law": ["by law"], "style": ["tabs"], "editor": ["Dear customer"]}
    played = await desk(files, SAID | said).run("chief")

    assert played.report == "Dear customer"
    request = ("original_user_request", "", "I want my money back")
    assert blocks(heard(played, "tester")[0][0]) == [request, ("advisory", "law", "by law")]
    assert blocks(heard(played, "coder")[0][0])[1:] == [
        ("advisory", "law", "by law"),
        ("advisory", "style", "tabs"),
    ]
    assert blocks(played.prompt("editor")) == [request, ("response", "chief", "it is done")]
    assert played.started().count("law") == played.started().count("style") == 1


async def test_a_lead_from_another_file_hands_off_before_its_team_does(desk):
    """O-1, O-4, A-107."""
    files = {
        "review": "team: {members: [coder.ai], supervisor: boss.ai}\nhandoff: editor.ai",
        "boss": "advisors: [law.ai]\nhandoff: clerk.ai",
        **dict.fromkeys(("coder", "law", "clerk", "editor"), ""),
    }
    said = {"coder": ["a"], "law": ["l"], "boss": ["b"], "clerk": ["c"], "editor": ["d"]}
    played = await desk(files, said).run("review")

    assert played.report == "d"
    assert [tag for tag, _, _ in blocks(heard(played, "boss")[0][0])] == [
        "original_user_request",
        "advisory",
        "broadcast",
    ]
    assert blocks(played.prompt("clerk"))[1] == ("response", "boss", "b")
    assert blocks(played.prompt("editor"))[1] == ("response", "clerk", "c")


async def test_a_lead_that_routes_ends_its_team(desk):
    """A-79, A-107."""
    files = {**FILES, "chief": f"{FILES['chief']}\nrouter: {{destinations: [desk.ai]}}", "desk": ""}
    played = await desk(files, SAID | {"chief": [{"route": "desk"}], "desk": ["answered"]}).run("chief")

    assert played.report == "answered"
    assert played.offered("chief") == ["agent__final_report", "router__handoff-to", "team__broadcast"]
    assert played.events("team.cancelled")[0].members == ("coder", "tester")


async def test_a_team_may_be_called_as_a_tool_and_its_members_may_call_agents(desk):
    """A-107."""
    files = {**FILES, "root": "agents: [chief.ai]", "coder": "agents: [clerk.ai]", "clerk": ""}
    ask = {"tool": "agent__chief", "arguments": {"prompt": "make it", "reason": "r"}}
    count = {"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}
    said = {"root": [{"calls": [ask]}, "thanks"], "coder": [{"calls": [count]}, "3 of them"], "clerk": ["3"]}
    played = await desk(files, SAID | said | {"chief": ["it is done"]}).run("root")

    assert played.report == "thanks"
    assert "0/turn:1/call:1/member:coder/cycle:1/turn:1/call:1" in spans(played, "session.started")
    assert played.model.heard_from("root")[1].messages[-1].text == "it is done\n[runtime: 0 tool calls]"


async def test_broadcasts_cost_nothing_and_are_in_the_account(desk):
    """A-87."""
    played = await desk(FILES, SAID).run("chief")

    entries = [entry for entry in played.result.accounting if entry.name == "team__broadcast"]
    assert [(entry.agent_id, entry.cost_usd, entry.tokens_in) for entry in entries] == [
        (agent, 0.0, 0) for agent in ("coder", "tester", "chief", "coder", "tester")
    ]
    assert {entry.chain_trigger for entry in played.result.accounting} == {"member", "lead"}
    assert played.result.totals.agents_run == played.result.op_tree.totals.agents_run == 3


SMALL = """
providers: {scripted: {kind: scripted, script: script.yaml, contextWindow: 2400}}
models: {default: scripted/any}
"""


async def test_a_broadcast_too_long_for_the_lead_is_dropped_and_the_team_must_end(desk):
    """A-86, O-46: the diagnostic stands in its place, and only the report is offered until there is one."""
    script = SAID | {"coder": ["x" * 6000], "chief": [ON, {"report": "as far as I know"}]}
    played = await desk(FILES, script, settings=SMALL).run("chief")

    assert played.report == "as far as I know"
    [(_, dropped), (_, kept), (_, end)] = sections(heard(played, "chief")[0][0])
    assert "This broadcast of 6000 characters was dropped: it would overflow the context of chief." in dropped
    assert kept.endswith("line 3 fails")
    assert "Give your final report now." in end
    assert played.offered("chief") == played.offered("chief", 1) == ["agent__final_report"]


async def test_a_broadcast_too_long_for_a_member_ends_the_team_after_its_cycle(desk):
    """A-86."""
    files = {**FILES, "tester": f"---\ndescription: t\n---\n{'You are careful. ' * 550}"}
    script = SAID | {"coder": ["x" * 12_000, "y"]}
    played = await desk(files, script, settings=SMALL.replace("2400", "8000")).run("chief")

    assert played.report == "it is done"
    assert [event.dropped for event in played.events("team.called") if event.dropped] == [(1,)]
    assert played.offered("chief", 1) == ["agent__final_report"]


async def test_cancelling_stops_every_member_and_starts_nobody(desk):
    """A-112."""
    slow = {"delay": "1h", "text": "late"}
    at = desk(FILES, SAID | {"coder": [slow], "tester": [slow]})
    played = await at.cancelled("chief", "no more")

    assert played.result.status == "cancelled"
    assert spans(played, "session.cancelled") == ["0/member:coder/cycle:1", "0/member:tester/cycle:1"]
    assert played.events("team.cancelled")[0].members == ("coder", "tester")
    assert {request.agent for request in at.model.heard} == {"coder", "tester"}


async def test_cancelling_names_only_those_still_in_the_team(desk):
    """A-112, A-74: while the lead thinks, coder has left already."""
    at = desk(FILES, SAID | {"coder": [left("done")], "chief": [{"delay": "1h", "text": "late"}]})
    played = await at.cancelled("chief", "no more")

    assert spans(played, "session.cancelled") == ["0/lead/cycle:1"]
    assert [event.members for event in played.events("team.cancelled")] == [("tester",)]


async def test_a_member_that_waits_for_a_person_parks_the_run_and_the_others_are_not_lost(desk):
    """O-22, A-71: resumed, only the call in doubt is still open."""
    sent = []
    send = fake("send(to)", "sent", effect="once", access="write", calls=sent)
    files = {**FILES, "coder": "tools: [send]"}
    script = SAID | {"coder": [{"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "sent it"]}
    whole = await desk(files, script, tools=[send]).run("chief")
    again = desk(files, script, tools=[send])
    cut = whole.types.index("tool.started") + 1
    played = await again.continued(whole.drafts[:cut])

    assert sent == ["x"]
    assert [(item.kind, item.span) for item in played.result.inbox] == [
        ("in_doubt", "0/member:coder/cycle:1")
    ]
    assert [event.member_id for event in played.events("team.broadcast")] == ["tester"]


@pytest.mark.parametrize("slow", ["coder", "tester"])
async def test_who_is_quicker_changes_nothing_that_anybody_reads(desk, slow):
    """A-76, A-77: the order of the transcript follows from the file."""
    late = [{"delay": "5s", **said} for said in SAID[slow]]
    at = desk(FILES, SAID | {slow: late})
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("chief", "hello"))
        await at.clock.advance(6)
        await at.clock.advance(6)
        played = await at.played(await running)

    assert played.report == "it is done"
    assert [agent for agent, _ in sections(heard(played, "chief")[0][0])] == ["coder", "tester"]
    assert [agent for agent, _ in sections(heard(played, "coder")[1][0])] == ["tester", "chief"]
    assert [said.order for said in played.result.teams[0].broadcasts] == [1, 2, 3, 4, 5]


class Notebook:
    def __init__(self):
        self.said, self.gone = [], []

    def on_member_broadcast(self, team, broadcast):
        self.said.append((team, broadcast.member_id, broadcast.message))

    def on_member_exit(self, team, member_id, reason):
        self.gone.append((member_id, reason))


async def test_a_subscriber_hears_everything_that_is_said_in_a_team(desk):
    """A-88."""
    at, notebook = (
        desk(FILES, SAID | {"coder": [left("done")], "tester": [BROKEN], "chief": ["ok"]}),
        Notebook(),
    )
    around = Surroundings(
        env={}, clock=at.clock, journal=at.journal, identify=lambda _: at.identity, subscribers=[notebook]
    )
    async with Folkmoot.open(at.folder, models={"scripted": at.model}, around=around) as moot:
        await moot.run("chief", "hello")

    assert notebook.said[0] == (("run-1", "0"), "coder", "done")
    assert [member for member, _ in notebook.gone] == ["coder", "tester"]
    assert notebook.gone[0][1] == ""
    assert "no such model" in notebook.gone[1][1]


async def test_the_budget_of_a_member_holds_over_all_its_cycles(desk):
    """A-81, A-82: it is told to be gone like any other failure."""
    files = {**FILES, "coder": "budget: {requests: 1}"}
    played = await desk(files, SAID).run("chief")

    assert len(played.model.heard_from("coder")) == 1
    assert "1 requests of 'coder'" in played.events("team.member_failed")[0].reason
    assert played.report == "it is done"


async def test_a_member_that_may_not_begin_is_a_failed_one(desk):
    """A-82: the lead takes the place of its team's file, and is no descendant of it."""
    files = {**FILES, "chief": f"{FILES['chief']}\nbudget: {{descendants: 1}}"}
    played = await desk(files, SAID).run("chief")

    assert played.model.heard_from("tester") == []
    assert [event.member_id for event in played.events("team.member_failed")] == ["tester"]
    assert played.report == "it is done"


async def test_a_lead_has_no_final_broadcast(desk):
    """O-2, A-73."""
    played = await desk(FILES, SAID | {"chief": [left("bye"), {"report": "so be it"}]}).run("chief")

    assert "agent__final_report" in played.model.heard_from("chief")[1].messages[-1].text
    assert played.report == "so be it"


async def test_the_last_request_of_a_teams_budget_is_the_leads(desk):
    """A-81, O-33: so that it can still report."""
    files = {**FILES, "chief": f"{FILES['chief']}\nbudget: {{requests: 3}}"}
    played = await desk(files, SAID | {"chief": [{"report": "so far"}]}).run("chief")

    assert played.report == "so far"
    assert played.offered("chief") == ["agent__final_report"]
