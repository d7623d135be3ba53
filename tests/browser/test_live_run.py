"""A run that is looked at while it runs, by somebody whose connection breaks in the middle."""

import asyncio

from playwright.async_api import expect

from folkmoot.http.server import build_application
from folkmoot.http.state import ServerOptions, ServerState
from tests.browser.serving import listening
from tests.browser.visitor import visiting
from tests.fakes import fake

BROKEN = "console: [object Event]"
"""What htmx says of a stream that broke."""


async def test_what_happened_while_the_connection_was_broken_is_there_afterwards(house, browser):
    """Nothing is missing, nothing is twice, and nobody has to load the page again."""
    go_on = asyncio.Event()
    ledger = fake("ledger(order)", "charged twice", does=go_on.wait)
    script = {"desk": [{"calls": [{"tool": "ledger", "arguments": {"order": "1"}}]}, "Paid back."]}
    moot = await house({"desk": "tools: [ledger]"}, script, tools=[ledger])
    running = asyncio.create_task(moot.run("desk.ai", "Twice!"))
    await ledger.reached.wait()
    [row] = await moot.runs()
    served = ServerState(moot=moot, door=ServerOptions())
    async with listening(build_application(served)) as home, visiting(browser, home) as visitor:
        asked = []
        visitor.page.on("request", lambda request: asked.append(request.url))
        await visitor.go(f"/runs/{row.run_id}")
        rows = visitor.page.locator("#fall .op")
        await expect(rows.filter(has_text="ledger")).to_have_count(1)
        before = sum("/live" in url for url in asked)

        served.streams.close()
        go_on.set()
        await running

        state = visitor.page.locator(".head .state").first
        await expect(state).to_contain_text("completed", ignore_case=True)
        await expect(rows.filter(has_text="turn 2")).to_have_count(1)
        await expect(rows.filter(has_text="ledger")).to_have_count(1)

    assert sum("/live" in url for url in asked) > before
    assert [each for each in visitor.scandals if each != BROKEN] == []
