"""Whoever starts a run on the page and watches it sees its answer, without loading anything again."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.visitor import PATIENCE
from tests.fakes import fake

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which card?"}}]}
LOOK = {"calls": [{"tool": "ledger", "arguments": {}}]}
BROKEN = {"error": {"message": "the provider is tired", "retryable": False}}
FILES = {
    "desk": "router: {destinations: [billing.ai]}",
    "billing": "tools: [ledger, ask_user]\nhandoff: editor.ai",
    "editor": "tools: [ledger]",
}
SCRIPT = {"desk": [{"route": "billing"}], "billing": [LOOK, "a draft"], "editor": ["**Paid** back."]}


@pytest.fixture
def held():
    """A tool that waits until the test lets it go."""
    go_on = asyncio.Event()
    ledger = fake("ledger", "charged twice", does=go_on.wait)
    return ledger, ledger.reached, go_on


async def start(visitor, agent="desk", request="I was charged twice."):
    await visitor.go("/start")
    await visitor.page.get_by_label(agent, exact=False).first.check()
    await visitor.page.get_by_label("Request").fill(request)
    await visitor.page.get_by_role("button", name="Start").click()
    await visitor.page.wait_for_url("**/runs/*")


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({}, "Answer of editor Paid back."),
        ({"editor": [BROKEN]}, "Failed, at editor handoff to 'editor' failed (stage 3 of desk -> billing -> editor): no model answered after 1 attempt; the last: the provider is tired"),
    ],
    ids=["routed and handed over", "failed"],
)  # fmt: skip
async def test_who_starts_a_run_and_watches_sees_its_answer(house, visit, held, more, answer):
    """K-81: on top of the page and in the open drawer of the root, which routed; neither is loaded again."""
    ledger, reached, go_on = held
    moot = await house(FILES, SCRIPT | more, tools=[ledger])
    visitor = await visit(moot, "/start")
    await start(visitor)
    await reached.wait()
    top, drawer = visitor.page.locator("#answer"), visitor.page.locator("#drawer")
    await expect(top).to_contain_text("billing is at work")
    await visitor.page.evaluate("window.unloaded = true")

    go_on.set()

    await expect(top.locator("[data-answer=completed], [data-answer=failed]")).to_have_count(
        1, timeout=PATIENCE
    )
    assert " ".join((await top.inner_text()).split()) == answer
    await expect(drawer.locator("#final")).to_contain_text(
        "Paid back." if not more else "the provider is tired"
    )
    await expect(drawer.locator("h2")).to_have_text("desk")
    assert await visitor.page.evaluate("window.unloaded")


async def test_the_open_drawer_follows_its_operation_and_stays_where_it_is_read(house, visit, held):
    """K-81: of a call that ends while somebody looks at it; what was unfolded and focused stays so."""
    ledger, reached, go_on = held
    moot = await house(FILES, SCRIPT, tools=[ledger])
    visitor = await visit(moot, "/start")
    await start(visitor)
    await reached.wait()
    drawer = visitor.page.locator("#drawer")
    await visitor.page.locator("#fall .op", has_text="ledger").click()
    await expect(drawer.locator("h2")).to_have_text("billing · ledger")
    await drawer.get_by_role("link", name="Close").focus()

    go_on.set()

    await expect(drawer.locator("#result")).to_contain_text("charged twice")
    await expect(drawer.get_by_role("link", name="Close")).to_be_focused()


async def test_a_run_that_asks_says_so_where_its_answer_will_be_and_goes_on(house, visit):
    """K-81, K-85: the way from the run to the question, and the answer after it; cancelled, it says why."""
    moot = await house(FILES, SCRIPT | {"billing": [ASK, "a draft"]}, tools=[tool_without_use()])
    visitor = await visit(moot, "/start")
    await start(visitor)
    top = visitor.page.locator("#answer")
    await expect(top).to_contain_text("billing asks Which card?")
    await expect(visitor.page.get_by_role("button", name="Resume")).to_have_count(0)
    run = visitor.page.url

    await visitor.page.locator("#actions").get_by_role("link", name="Answer").click()
    await visitor.page.get_by_role("textbox", name="Answer").fill("The blue one")
    async with visitor.page.expect_navigation():
        await visitor.page.keyboard.press("Control+Enter")
    await visitor.page.goto(run)

    await expect(top.locator("[data-answer=completed]")).to_contain_text("Paid back.", timeout=PATIENCE)

    await start(visitor, request="Again!")
    await visitor.page.get_by_role("button", name="Cancel run").click()
    await expect(top.locator("[data-answer=cancelled]")).to_contain_text("cancelled from the page")


def tool_without_use():
    return fake("ledger", "charged twice")
