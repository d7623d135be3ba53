"""Signing in as a browser does it, with the headers that it adds by itself."""

from playwright.async_api import async_playwright

from folkmoot.http.state import ServerOptions
from tests.http.doors import TOKEN, serving

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


async def test_a_browser_signs_in_once_and_is_led_to_what_was_asked(desk):
    """E-86. Its form names an origin only as long as the referrer policy lets it."""
    moot = desk({"a": "description: works"}, {"a": ["done"]})
    async with serving(moot, ServerOptions(port=0, token=TOKEN)) as served, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = await browser.new_page()
        page.set_default_timeout(60_000)
        asked = await page.goto(f"{served.address}runs?state=failed")
        await page.get_by_label("Token").fill(TOKEN)
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        address = page.url
        title, readable = await page.title(), await page.evaluate("document.cookie")
        (cookie,) = await page.context.cookies()
        await browser.close()

    assert asked is not None
    assert asked.status == 401
    assert address == f"{served.address}runs?state=failed"
    assert title == "Runs · Folkmoot"
    assert readable == ""
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert served.house.refusals.counts == {"no token": 1}
