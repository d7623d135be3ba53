"""Every key that the help lists, every form by Ctrl+Enter, and what can be sent while the server is away."""

import re
from contextlib import suppress

import pytest
from playwright.async_api import expect

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from tests.fakes import fake

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}
BROKEN = {"error": {"message": "tired", "retryable": False}}
CLERK = {"clerk": "description: A clerk.\ntools: [ask_user]"}


async def keys_of(visitor):
    """As the help lists them: its words, and the keys."""
    await visitor.page.keyboard.press("?")
    listed = visitor.page.locator("#all-keys dl > div")
    await expect(listed.first).to_be_visible()
    found = await listed.evaluate_all(
        "all => all.map(e => [e.querySelector('dt').textContent, [...e.querySelectorAll('kbd')].map(k => k.textContent)])"
    )
    await visitor.page.keyboard.press("Escape")
    return {words: keys for words, keys in found}


async def test_every_key_that_goes_somewhere_goes_there(house, visit):
    """K-85: taken from the help itself."""
    visitor = await visit(await house(CLERK, {}), "/more")
    listed = {words: keys for words, keys in (await keys_of(visitor)).items() if keys[0] == "g"}
    assert len(listed) == 11

    for words, keys in listed.items():
        await visitor.go("/start")
        here = visitor.page.locator('.rail [aria-current="page"]', has_text=words)
        for _ in range(10):  # on a busy machine the second key may come too late for the first
            await visitor.page.keyboard.press("Escape")
            await visitor.page.keyboard.type("".join(keys))
            with suppress(AssertionError):
                await expect(here).to_be_visible(timeout=6_000)
                break
        await expect(here).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/start", "/graph", "/costs", "/more", "/tasks", "/chat"])
async def test_the_slash_searches_from_every_screen(house, visit, path):
    """K-85: on the screen itself, or on that of the runs; also after an agent was chosen with the mouse."""
    visitor = await visit(await house(CLERK, {}), path)
    await visitor.page.keyboard.press("Escape")
    if path == "/start":
        await visitor.page.get_by_label("clerk").check()

    await visitor.page.keyboard.press("/")

    await expect(visitor.page.locator("main .search input")).to_be_focused()


async def test_rows_of_the_tree_and_of_the_board_are_walked_and_the_next_failure_is_found(house, visit):
    """K-85: wherever the focus was; Esc closes the drawer."""
    moot = await house(CLERK, {"clerk": [BROKEN]})
    run = (await moot.run("clerk", "hello")).run_id
    await moot.moot.tasks.of("clerk", Author("ann")).add(NewTask("Count"), "one")
    visitor = await visit(moot, f"/runs/{run}")
    rows = visitor.page.locator("#fall .op")

    await visitor.page.keyboard.press("f")
    await expect(rows.first).to_be_focused()
    await visitor.page.keyboard.press("j")
    await expect(rows.nth(1)).to_be_focused()
    await visitor.page.keyboard.press("Enter")
    await expect(visitor.page.locator("#drawer h2")).to_have_text("clerk · turn 1")
    await visitor.page.keyboard.press("Escape")
    await visitor.page.wait_for_url(re.compile(rf"/runs/{run}$"))

    await visitor.go("/tasks")
    await visitor.page.keyboard.press("j")
    await expect(visitor.page.locator("a.card")).to_be_focused()
    await visitor.page.keyboard.press("b")
    await visitor.page.wait_for_url("**/tasks/new")


@pytest.mark.parametrize("modifier", ["Control", "Meta"])
@pytest.mark.parametrize(
    ("path", "field", "leads_to"),
    [
        ("/start", "request", r"/runs/\d"),
        ("/tasks/new", "description", "/tasks/task_"),
        ("/chat?new=1", "text", "/chat/ws_"),
        ("/inbox/{item}", "text", "/inbox/"),
        ("/tasks/{task}", "summary", "/tasks/task_"),
        ("/runs/{run}/fork?at=1", "request", r"/runs/\d"),
    ],
    ids=["start", "task", "chat", "answer", "done", "fork"],
)
async def test_every_text_is_sent_with_ctrl_or_cmd_and_enter(house, visit, path, field, leads_to, modifier):
    """K-85: each form with a text area, by what it is for."""
    moot = await house(CLERK, {"clerk": [ASK, "done"]})
    run = (await moot.run("clerk", "hello")).run_id
    (item,) = await moot.inbox()
    task = await moot.moot.tasks.of("clerk", Author("ann")).start(NewTask("Count"), "one")
    visitor = await visit(moot, path.format(item=item.id, task=task.id, run=run))

    await visitor.page.locator(f"textarea[name={field}]").fill("three of them")
    async with visitor.page.expect_request(lambda request: request.method == "POST"):
        await visitor.page.keyboard.press(f"{modifier}+Enter")

    await visitor.page.wait_for_url(re.compile(leads_to))


async def test_a_reason_is_sent_as_a_denial(house, visit):
    """K-85: Ctrl+Enter never approves what somebody wrote a reason against."""
    pay = fake("pay(to)", AssertionError(), effect="once", access="write", asks="high")
    call = {"calls": [{"tool": "pay", "arguments": {"to": "eve"}}]}
    moot = await house({"clerk": "tools: [pay]"}, {"clerk": [call, "not paid"]}, tools=[pay])
    await moot.run("clerk", "pay eve")
    (item,) = await moot.inbox()
    visitor = await visit(moot, f"/inbox/{item.id}")

    await visitor.page.keyboard.press("d")
    await visitor.page.keyboard.type("Who is she?")
    await visitor.page.keyboard.press("Control+Enter")

    await expect(visitor.page.locator("form.answer")).to_contain_text("denied")
    await expect(visitor.page.locator("form.answer")).to_contain_text("Who is she?")


@pytest.mark.parametrize("gone", ["refused", 502], ids=["no answer", "a proxy without a server"])
async def test_nothing_can_be_sent_while_the_server_is_away_and_everything_after(house, visit, gone):
    """K-85: the page says so, disables what would send, with the reason, and keeps what is written."""
    moot = await house(CLERK, {"clerk": [ASK, "done"]})
    run = (await moot.run("clerk", "hello")).run_id
    visitor = await visit(moot, "/start")
    page, lost = visitor.page, visitor.page.locator("#lost")
    visitor.expected.add(502)
    for path, name in (("/start", "Start"), (f"/runs/{run}", "Cancel run")):
        await visitor.go(path)
        button = page.get_by_role("button", name=name, exact=True)
        await expect(button).to_be_enabled()

        away = (
            (lambda route: route.abort()) if gone == "refused" else (lambda route: route.fulfill(status=502))
        )
        await page.route("**/rail", away)
        await expect(lost).to_contain_text("The server does not answer")
        await expect(button).to_be_disabled()
        await expect(button).to_have_attribute("title", re.compile("The server does not answer"))
        if name == "Start":
            await page.get_by_label("Request").fill("hello")
            await page.keyboard.press("Control+Enter")
            assert page.url.endswith("/start")

        await page.unroute("**/rail")
        await expect(lost).not_to_be_visible()
        await expect(button).to_be_enabled()
    visitor.scandals[:] = [each for each in visitor.scandals if not each.startswith("console")]
