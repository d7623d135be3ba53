"""What waits for a person is shown whole, answered by a form, and the run goes on."""

from folkmoot import tool
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from folkmoot.domain.message import ToolSpec
from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun
from tests.desk import SETTINGS
from tests.http.page import browsing

PAID = []
LONG = "x" * 5_000


@tool(effect="once", access="write", asks="high")
async def pay(to: str, note: str = "") -> str:
    """Pay."""
    PAID.append(to)
    return f"paid {to}"


def paying(**arguments):
    return {"clerk": [{"calls": [{"tool": "pay", "arguments": arguments}]}, "done"]}


def clerk(desk, **arguments):
    PAID.clear()
    return desk({"clerk": "tools: [pay]"}, paying(**arguments), tools=[pay])


async def asked(page, agent="clerk"):
    """The only item that waits after a run."""
    await page.house.moot.run(agent, "pay ann")
    [item] = [item for item in await page.house.moot.inbox() if item.is_open]
    return item


async def test_an_approval_in_the_page_releases_exactly_this_call_once_and_the_run_goes_on(desk):
    """D-26, U-7."""
    async with browsing(at := clerk(desk, to="ann")) as page:
        item = await asked(page)
        listed = await page.get("/inbox")
        assert "Waits for you · 1" in listed.words
        assert "pay" in listed.words

        sent = await page.send(f"/inbox/{item.id}", word="approve", hash=item.hash, by="eve")
        assert (sent.status, sent.location) == (303, f"/inbox/{item.id}")
        await page.rest()

        assert PAID == ["ann"]
        assert (await page.house.moot.result("run-1")).status == "completed"
        past = await page.get(f"/inbox/{item.id}")
        assert "approved by eve" in past.words
        assert 'value="approve"' not in past.html
    assert (await at.played(await _result(at))).report == "done"


async def _result(at):
    async with at.open() as moot:
        return await moot.result("run-1")


async def test_a_call_of_the_callers_own_tool_is_shown_whole_and_can_be_answered_in_their_place(desk):
    """D-26: whoever brought the tool may have gone."""
    script = {"clerk": [{"calls": [{"tool": "weather", "arguments": {"city": "Bonn"}}]}, "done"]}
    weather = ToolSpec(name="weather", description="", parameters={"type": "object"})
    async with browsing(at := desk({"clerk": ""}, script)) as page:
        await page.house.moot.run("clerk", "hello", errand=Errand(tools=(weather,)))
        [item] = await page.house.moot.inbox()
        shown = await page.get(f"/inbox/{item.id}")
        assert "clerk waits for weather of its caller" in shown.words
        assert "Bonn" in shown.words
        assert 'value="approve"' not in shown.html

        await page.send(f"/inbox/{item.id}", word="fail", text="no such city", hash="", by="eve")
        await page.rest()

        assert "no such city" in (await page.get(f"/inbox/{item.id}")).words
        assert "caller · weather" in (await page.get("/runs/run-1")).words
    assert at.model.heard[1].messages[-1].text == "(tool failed: no such city)"


async def test_the_call_is_shown_whole_with_its_hash_who_asks_and_why(desk):
    """D-26, B-37: nothing that a person approves is cut, and nothing in it hides."""
    async with browsing(clerk(desk, to="ann", note=LONG + "\u202eend")) as page:
        item = await asked(page)

        shown = await page.get(f"/inbox/{item.id}")

        assert LONG in shown.html
        assert "\\u202eend" in shown.html
        assert "\u202e" not in shown.html
        assert item.hash in shown.html
        assert "clerk wants to call pay" in shown.words
        assert "the tool itself wants somebody's word" in shown.words
        assert 'href="/runs/run-1"' in shown.html


async def test_to_deny_needs_a_reason_which_the_agent_reads(desk):
    """D-26."""
    async with browsing(at := clerk(desk, to="ann")) as page:
        item = await asked(page)

        refused = await page.send(f"/inbox/{item.id}", word="deny", hash=item.hash)
        assert refused.status == 409
        assert "to deny needs a reason" in refused.words
        assert [each.is_open for each in await page.house.moot.inbox()] == [True]

        await page.send(f"/inbox/{item.id}", word="deny", hash=item.hash, text="not today")
        await page.rest()

        assert PAID == []
        assert "not today" in at.model.heard_from("clerk")[-1].messages[-1].text


async def test_what_was_answered_elsewhere_stands_in_its_past_form_with_who_answered(desk):
    """D-26: the first answer counts; a later one is told so in the form."""
    async with browsing(clerk(desk, to="ann")) as page:
        item = await asked(page)
        assert (await page.get(f"/inbox/{item.id}/said")).status == 204

        await page.house.moot.reply(item.deny("no", "bob"))

        said = await page.get(f"/inbox/{item.id}/said")
        assert "denied by bob: no" in said.words
        assert 'id="answer"' in said.html
        assert 'hx-swap-oob="true"' in said.html
        late = await page.send(f"/inbox/{item.id}", word="approve", hash=item.hash)
        assert late.status == 409
        assert "decided already: deny by bob" in late.words


async def test_a_question_is_answered_and_the_agent_reads_it(desk):
    """D-7, U-7."""
    ask = {"tool": "ask_user", "arguments": {"question": "How much?\nIn euros."}}
    async with browsing(desk({"clerk": "tools: [ask_user]"}, {"clerk": [{"calls": [ask]}, "done"]})) as page:
        item = await asked(page)
        shown = await page.get(f"/inbox/{item.id}")
        assert "How much?\nIn euros." in shown.html
        assert (await page.send(f"/inbox/{item.id}", word="answer")).status == 409

        await page.send(f"/inbox/{item.id}", word="answer", text="five")
        await page.rest()

        assert (await page.house.moot.result("run-1")).status == "completed"
        assert "answered by" in (await page.get("/inbox")).words


async def test_a_file_write_is_shown_as_what_it_changes(desk):
    """D-26: the diff of the file as it is now."""
    write = {"tool": "files__write", "arguments": {"path": "a.md", "content": "one\nthree\n"}}
    rules = SETTINGS + "rules: [{tool: files.write, decision: ask, reason: files are ours}]"
    at = desk({"clerk": "tools: [files.write]"}, {"clerk": [{"calls": [write]}, "done"]}, settings=rules)
    (at.folder / "a.md").write_text("one\ntwo\n")
    async with browsing(at) as page:
        item = await asked(page)

        shown = await page.get(f"/inbox/{item.id}")
        diff = shown.between('<div class="diff"', "</div>")

        assert "a.md +1 −1" in diff
        assert "− two" in diff
        assert "+ three" in diff
        assert "files are ours" in shown.words


async def test_a_call_in_doubt_is_settled_by_what_a_person_says(desk):
    """D-26: a process died in the middle of a call that must not happen twice. K-7: not again at once."""
    whole = clerk(desk, to="ann")
    played = await whole.run("clerk", "pay", answer=_yes)
    cut = played.types.index("tool.started") + 1
    async with browsing(at := clerk(desk, to="ann")) as page:
        moot = page.house.moot
        at.journal.keep(encode_graph(moot.graph))
        await at.journal.append("run-1", NewRun("host/0/0/gone", 0.0), played.drafts[:cut])
        await moot.resume("run-1")
        [item] = [item for item in await moot.inbox() if item.kind == "in_doubt"]
        shown = (await page.get(f"/inbox/{item.id}")).words
        assert "Was pay ann of clerk done?" in shown
        assert f"from {item.retry_from} on" in shown
        early = await page.send(f"/inbox/{item.id}", word="retry", hash=item.hash)
        assert f"can be made again from {item.retry_from} on" in early.words

        await page.send(f"/inbox/{item.id}", word="done", text="receipt 4711", hash=item.hash)
        await page.rest()

        assert PAID == []
        assert at.model.heard[-1].messages[-1].text == "receipt 4711"
        assert "settled" in (await page.get("/inbox")).words


async def _yes(item):
    return item.approve()


async def test_plans_tasks_and_undecided_votes_wait_there_too(desk):
    """D-26, D-15, E-28."""
    async with browsing(desk({"clerk": "", "boss": "role: lead"}, {})) as page:
        moot = page.house.moot.moot
        step = StepWish("write it", owner="clerk", acceptance="it is written")
        plan = await moot.plans.draft(Author("ann"), PlanWish("A plan", (step,)), chance="a", submitted=True)
        new = NewTask("Sweep", requires_approval=True)
        task = await moot.tasks.of("clerk", Author("ann")).start(new, "b")
        proposal = Proposal("Which?", (Option("a"), Option("b")), (Voter("x"), Voter("y")))
        decision = await moot.decisions.propose(Author("ann"), proposal, "c")
        await moot.decisions.vote(decision.id, Author("x"), "a")
        await moot.decisions.vote(decision.id, Author("y"), "b")
        await moot.decisions.settle(decision.id)

        listed = await page.get("/inbox")
        assert "Waits for you · 3" in listed.words
        assert "Plan: A plan" in listed.words
        assert "Task: Sweep" in listed.words
        assert "Decision: Which?" in listed.words
        assert "write it" in (await page.get(f"/inbox/{plan.id}")).words
        assert f"/decisions/{decision.id}" in (await page.get(f"/inbox/{decision.id}")).html

        assert (await page.send(f"/inbox/{plan.id}", word="deny")).status == 400
        await page.send(f"/inbox/{plan.id}", word="commit")
        await page.send(f"/inbox/{task.id}", word="approve")

        assert (await moot.plans.get(plan.id)).status == "committed"
        assert (await moot.tasks.get(task.id)).status == "in_progress"
        assert (await page.get(f"/inbox/{task.id}")).location == f"/tasks/{task.id}"
        assert "Waits for you · 1" in (await page.get("/inbox")).words
        await page.send(f"/decisions/{decision.id}/commit", by="eve", option="b")
        assert "decided by eve: b" in (await page.get("/inbox")).words


async def test_an_unknown_id_is_said_to_be_unknown(desk):
    async with browsing(desk({"clerk": ""}, {})) as page:
        unknown = await page.get("/inbox/ap_none")
        assert (unknown.status, unknown.type) == (404, "text/html; charset=utf-8")
        assert "the inbox shows what does" in unknown.words
        assert (await page.get("/nowhere")).status == 404
