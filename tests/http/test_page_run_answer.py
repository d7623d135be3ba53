"""What the page of a run says at its top: the answer, or why there is none, and how its time was spent."""

import pytest

from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun
from tests.desk import SETTINGS
from tests.http.page import browsing
from tests.orchestration import test_contract, test_team
from tests.views import test_timeline

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which card?"}}]}
LIMIT = SETTINGS + "budget: {wall: 10m}\n"


async def test_twenty_minutes_without_an_answer_are_waiting_and_no_active_time(desk):
    """K-80: head, meter and axis of a run that asks, waits for 20 minutes in an inbox, and goes on."""
    project = desk({"a": "tools: [ask_user]"}, {"a": [ASK, "Paid back."]}, settings=LIMIT)
    async with browsing(project) as page:
        started = await page.send("/start", agent="a.ai", request="Twice!")
        await page.rest()
        await project.clock.advance(1200)
        waiting = await page.get(started.location)
        (item,) = await page.house.moot.inbox()
        await page.send(f"/inbox/{item.id}", text="the blue one", word="answer")
        await page.rest()
        over = await page.get(started.location)

    for shown in (waiting, over):
        assert "20 m 00 s 0.0 s active, 20 m 00 s waiting" in shown.words
        assert "Wall time 0.0 s of 10 m" in shown.words


BROKEN = {"error": {"message": "the provider is tired", "retryable": False}}
CALL = {"calls": [{"tool": "agent.clerk", "arguments": {"prompt": "look", "reason": "r"}}]}
PATTERNS = {
    "alone": ({"desk": ""}, {"desk": ["**Paid** back."]}),
    "route": (
        {"desk": "router: {destinations: [clerk.ai]}", "clerk": ""},
        {"desk": [{"route": "clerk"}], "clerk": ["Paid back."]},
    ),
    "handoff": (
        {"desk": "handoff: clerk.ai", "clerk": ""},
        {"desk": ["a draft"], "clerk": ["Dear customer"]},
    ),
    "everything": (test_timeline.FILES, test_timeline.SCRIPT),
    "advisors": ({"desk": "advisors: [clerk.ai]", "clerk": ""}, {"desk": ["Paid."], "clerk": ["Be kind."]}),
    "sub-agents": (
        {"desk": "agents: [clerk.ai]", "clerk": "handoff: editor.ai", "editor": ""},
        {"desk": [CALL, "Paid."], "clerk": ["found"], "editor": ["found it"]},
    ),
    "team": ({**test_team.FILES, "desk": "handoff: chief.ai"}, {**test_team.SAID, "desk": ["a draft"]}),
    "plan": ({"desk": "tools: [look]\nsplit: always"}, test_contract.said(test_contract.TWO)),
    "json": (
        {"desk": "output: {format: json, schema: {type: object}}"},
        {"desk": [{"report": {"paid": True}}]},
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_the_answer_of_a_run_stands_on_its_page_and_in_its_drawer_with_who_gave_it(desk, pattern):
    """K-81: whatever the request went through; the head and the list name the same agents."""
    files, script = PATTERNS[pattern]
    tools = [test_contract.look] if pattern == "plan" else []
    project = desk(files, script, tools=tools)
    played = await project.run("desk.ai")
    async with browsing(project) as page:
        shown, listed = await page.get("/runs/run-1"), await page.get("/runs")

    agent, report = played.result.final_agent_id, played.report.replace("**", "")
    assert played.result.success
    assert f"Answer of {agent} {report}" in shown.between('data-answer="completed"', "</section>")
    assert f"Answer {agent} {report}" in shown.between('id="final"', "</section>")
    path = shown.between('<span class="path">', "</span></li>").split()
    assert path == listed.between('<span class="sub">', "</span>").split(" › ")
    assert path[-1] == agent


@pytest.mark.parametrize(
    ("answers", "reason"), [([BROKEN], "Failed, at clerk"), ([ASK], "Cancelled")], ids=["failed", "cancelled"]
)
async def test_why_a_run_has_no_answer_stands_in_the_place_of_the_answer(desk, answers, reason):
    """K-81: of a routed run, whose root did its part."""
    files = {"desk": "router: {destinations: [clerk.ai]}", "clerk": "tools: [ask_user]"}
    project = desk(files, {"desk": [{"route": "clerk"}], "clerk": answers})
    await project.run("desk.ai")
    async with browsing(project) as page:
        if reason == "Cancelled":
            await page.send("/runs/run-1/cancel")
        shown = await page.get("/runs/run-1")

    said = "cancelled from the page" if reason == "Cancelled" else "the provider is tired"
    there = shown.between('id="answer"', "</section>")
    assert reason in there
    assert said in there


async def test_a_run_that_waits_leads_to_what_it_waits_for(desk):
    """K-85: Resume did nothing; it asks to be answered, on the page and by the form of an old page."""
    project = desk({"a": "tools: [ask_user]"}, {"a": [ASK, "Paid back."]})
    await project.run("a.ai")
    async with browsing(project) as page:
        (item,) = await page.house.moot.inbox()
        shown = await page.get("/runs/run-1")
        resumed = await page.send("/runs/run-1/resume")
        await page.house.moot.reply(item.answer("the blue one"))
        answered = await page.get("/runs/run-1")

    assert "a asks Which card? Answer" in shown.between('id="answer"', "</section>")
    assert f'href="/inbox/{item.id}"' in shown.html.partition('id="actions"')[2].partition("</header>")[0]
    assert resumed.location == f"/inbox/{item.id}"
    assert "a asks" not in answered.words


async def test_an_interrupted_run_offers_to_be_resumed_and_one_that_is_over_does_not(desk):
    """K-85: what a button of a run says can be done, can be done; the rest is not there or says why not."""
    files, script = PATTERNS["route"]
    whole = await desk(files, script).run("desk.ai")
    project = desk(files, script)
    async with browsing(project) as page:
        project.journal.keep(encode_graph(page.house.moot.graph))
        await project.journal.append("run-1", NewRun("host/0/0/gone", 0.0), whole.drafts[:3])
        interrupted = await page.get("/runs/run-1")
        await page.send("/runs/run-1/resume")
        await page.rest()
        over = await page.get("/runs/run-1")

    shown = [each.between('id="actions"', "</div>") for each in (interrupted, over)]
    assert [words.partition("> ")[2] for words in shown] == ["Fork Resume Cancel run", "Fork"]
    assert "No process carries this run on" in interrupted.words
    assert "Answer of clerk Paid back." in over.words
