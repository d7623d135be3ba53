"""The screens of work in a real browser: answered, voted, written to, and kept up to date by themselves."""

import pytest
from playwright.async_api import expect

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from tests.fakes import fake
from tests.orchestration.messages import ANN, BOB, calls, write

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}
PAY = {"calls": [{"tool": "pay", "arguments": {"to": "ann"}}]}
PHONE = {"viewport": {"width": 390, "height": 844}}


def till(paid):
    return fake("pay(to)", "paid {to}", effect="once", access="write", asks="high", calls=paid)


async def ended(moot, run):
    assert (await moot.followed(run, wait=True)).status == "completed"


@pytest.mark.parametrize("look", [{}, PHONE], ids=["wide", "phone"])
async def test_an_approval_is_given_by_a_click_and_the_call_is_made_once(house, visit, look):
    """D-26, D-38: and what was said stands there."""
    paid = []
    moot = await house({"clerk": "tools: [pay]"}, {"clerk": [PAY, "done"]}, tools=[till(paid)])
    run = (await moot.run("clerk", "pay ann")).run_id
    visitor = await visit(moot, "/inbox", **look)

    await visitor.page.get_by_role("link", name="pay ann").click()
    await expect(visitor.page.locator(".said .text")).to_contain_text('"to":"ann"')
    await visitor.page.get_by_role("button", name="Approve this call").click()
    await expect(visitor.page.locator("form.answer")).to_contain_text("approved by")

    await ended(moot, run)
    assert paid == ["ann"]


async def test_what_is_answered_elsewhere_takes_the_form_away_under_nobodys_finger(house, visit):
    """D-38: without loading the page again; the list says so too, and keeps the row that has the focus."""
    moot = await house({"clerk": "tools: [ask_user]"}, {"clerk": [ASK, "done"]})
    await moot.run("clerk", "hello")
    [item] = await moot.inbox()
    visitor = await visit(moot, f"/inbox/{item.id}")
    await visitor.page.keyboard.press("j")

    await moot.reply(item.answer("the blue one", "bob"))

    await expect(visitor.page.locator("form.answer")).to_contain_text("answered by bob: the blue one")
    await expect(visitor.page.locator("#waits .past")).to_contain_text("answered by bob")
    await expect(visitor.page.locator("#waits .past")).to_be_focused()
    await expect(visitor.page.get_by_role("button", name="Answer")).to_have_count(0)


async def test_to_deny_by_key_leads_to_the_reason_first(house, visit):
    paid = []
    moot = await house({"clerk": "tools: [pay]"}, {"clerk": [PAY, "done"]}, tools=[till(paid)])
    run = (await moot.run("clerk", "pay ann")).run_id
    [item] = await moot.inbox()
    visitor = await visit(moot, f"/inbox/{item.id}")

    await visitor.page.keyboard.press("d")
    await visitor.page.keyboard.type("not today")
    await visitor.page.get_by_role("button", name="Deny").click()

    await expect(visitor.page.locator("form.answer")).to_contain_text("not today")
    await ended(moot, run)
    assert paid == []


async def test_a_person_votes_and_the_record_appears(house, visit):
    """D-9, D-42."""
    moot = await house({"clerk": ""}, {})
    proposal = Proposal("Which lamp?", (Option("green"), Option("red")), (Voter("eve"),), window=0)
    made = await moot.moot.decisions.propose(Author("bob"), proposal, "a chance")
    visitor = await visit(moot, "/decisions")
    await visitor.page.get_by_role("link", name="Which lamp?").click()

    vote = visitor.page.locator("#vote")
    await vote.get_by_label("Your name").fill("eve")
    await vote.get_by_label("Vote").select_option("red")
    await vote.get_by_role("button", name="Vote").click()

    await expect(visitor.page.locator(".option.chosen")).to_contain_text("red")
    await expect(visitor.page.locator(".adr")).to_contain_text("By vote (majority)")
    assert (await moot.moot.decisions.get(made.id)).committed_option == "red"


async def test_the_board_and_the_threads_follow_what_happens(house, visit):
    """E-6, E-77."""
    script = {"ann": [calls(write("bob", "one", label="The law")), "done"], "bob": ["yes"]}
    moot = await house({"ann": ANN, "bob": BOB}, script)
    visitor = await visit(moot, "/conversations")
    await moot.run("ann", "ask bob")
    await visitor.page.get_by_role("link", name="The law").click()
    await expect(visitor.page.locator("#turns")).to_contain_text("yes")

    await moot.moot.tasks.of("ann", Author("eve")).start(NewTask("First"), "a")
    await visitor.go("/tasks")
    await moot.moot.tasks.of("bob", Author("eve")).start(NewTask("Second"), "b")
    await expect(visitor.page.get_by_label("In progress")).to_contain_text("Second")


async def test_a_task_a_decision_and_a_work_session_are_kept_up_to_date_while_somebody_writes(house, visit):
    """E-6, E-77: what a person types meanwhile stays."""
    moot = await house({"ann": "description: A clerk."}, {"ann": ["done"]})
    eve = Author("eve")
    task = await moot.moot.tasks.of("ann", eve).start(NewTask("First"), "a")
    options, voters = (Option("red", ""), Option("blue", "")), (Voter("eve"), Voter("bob"))
    decision = await moot.moot.decisions.propose(eve, Proposal("Which one?", options, voters), "b")

    visitor = await visit(moot, f"/tasks/{task.id}")
    await visitor.page.get_by_label("Note of progress").fill("half of")
    await moot.moot.tasks.of("ann", eve).cancel(task.id, "not wanted")
    await expect(visitor.page.locator("#stands")).to_contain_text("cancelled", timeout=15_000)
    await expect(visitor.page.get_by_label("Note of progress")).to_have_value("half of")

    await visitor.go(f"/decisions/{decision.id}")
    await visitor.page.get_by_label("Rationale").fill("because")
    await moot.moot.decisions.vote(decision.id, eve, "red", "warm")
    await expect(visitor.page.locator("#ballot")).to_contain_text("warm", timeout=15_000)
    await expect(visitor.page.locator("#stands")).to_contain_text("voted 1")
    await expect(visitor.page.get_by_label("Rationale")).to_have_value("because")

    await visitor.go(f"/work-sessions/{task.work_session_id}")
    await visitor.page.get_by_label("Label").fill("Colo")
    await moot.run("ann", "go", errand=Errand(work_session=task.work_session_id))
    await expect(visitor.page.locator("#belongs")).to_contain_text("completed", timeout=15_000)
    await expect(visitor.page.get_by_label("Label")).to_have_value("Colo")


async def test_what_is_looked_at_stays_in_sight_while_the_board_is_kept_up_to_date(house, visit):
    moot = await house({"ann": "description: A clerk."}, {})
    for number in range(30):
        await moot.moot.tasks.of("ann", Author("eve")).start(NewTask(f"Task {number}"), str(number))
    visitor = await visit(moot, "/tasks")
    card = visitor.page.locator("a.card", has_text="Task 12")
    await card.focus()

    await moot.moot.tasks.of("ann", Author("eve")).start(NewTask("One more"), "more")

    await expect(visitor.page.get_by_label("In progress")).to_contain_text("One more")
    await expect(card).to_be_focused()
    await expect(card).to_be_in_viewport()


async def test_on_a_phone_the_chats_are_a_page_of_their_own(house, visit):
    moot = await house({"clerk": ""}, {"clerk": ["Good day."]})
    await moot.run("clerk", "hello")
    visitor = await visit(moot, "/chat", **PHONE)

    await visitor.page.get_by_role("link", name="hello").click()
    await expect(visitor.page.locator("#turns")).to_contain_text("Good day.")
    await visitor.page.get_by_role("link", name="Chats").click()
    await visitor.page.get_by_role("link", name="New chat").click()
    await expect(visitor.page.get_by_label("To")).to_be_visible()


async def test_a_chat_goes_on_by_itself_until_the_answer_is_there(house, visit):
    """D-7: then the next message goes on in the same place."""
    surely = {"text": "Slowly *but* surely."}
    script = {
        "clerk": {"rules": [{"when": "again", **surely}], "default": {**surely, "barrier": "a door/2"}},
        "porter": [{"report": "It is open.", "barrier": "a door/2"}],
    }
    moot = await house({"clerk": "", "porter": ""}, script)
    visitor = await visit(moot, "/chat")
    await visitor.page.get_by_label("To").select_option("clerk")
    await visitor.page.get_by_label("Write", exact=True).fill("hello")
    await visitor.page.get_by_role("button", name="Send").click()

    await expect(visitor.page.locator("#turns")).to_contain_text("writing")
    await moot.run("porter", "Open the door.")
    await expect(visitor.page.locator("#turns em")).to_have_text("but")
    place = visitor.page.url
    await visitor.page.get_by_label("Write to clerk").fill("and again")
    await visitor.page.get_by_role("button", name="Send").click()
    await expect(visitor.page.locator("#turns")).to_contain_text("and again")
    await expect(visitor.page.locator("#turns .face.person")).to_have_count(2)
    assert visitor.page.url == place
    await expect(visitor.page.locator("#turns em")).to_have_count(2)


async def test_without_scripts_everything_is_read_and_answered(house, visit):
    """D-26: forms are plain."""
    paid = []
    moot = await house({"clerk": "tools: [pay]"}, {"clerk": [PAY, "done"]}, tools=[till(paid)])
    run = (await moot.run("clerk", "pay ann")).run_id
    visitor = await visit(moot, "/inbox", java_script_enabled=False)
    await visitor.page.get_by_role("link", name="pay ann").click()
    await visitor.page.get_by_role("button", name="Approve this call").click()
    await expect(visitor.page.locator("form.answer")).to_contain_text("approved by")
    await ended(moot, run)
    assert paid == ["ann"]
