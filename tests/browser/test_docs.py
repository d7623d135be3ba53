"""The documentation in a browser: reached from the page, read on a phone, searched, and nothing that a policy forbids."""

import pytest
from playwright.async_api import expect

CLERK = {"clerk": "description: A clerk."}
PHONE = {"viewport": {"width": 390, "height": 844}}


async def test_it_opens_from_the_page_and_leads_on_and_back(house, visit):
    visitor = await visit(await house(CLERK, {}), "/runs")

    await visitor.page.get_by_role("link", name="Documentation").click()
    await visitor.page.get_by_role("navigation", name="Contents").get_by_role("link", name="The gate").click()
    await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text("The gate")
    await (
        visitor.page.get_by_role("navigation", name="On this page").get_by_role("link", name="Rules").click()
    )
    await visitor.page.wait_for_url("**/docs/gate#rules")
    await visitor.page.locator("a[rel=next]").click()
    await visitor.page.wait_for_url("**/docs/consent")
    await visitor.page.get_by_role("link", name="To the project").click()

    await expect(visitor.page.get_by_role("heading", name="Runs")).to_be_visible()


async def test_a_key_leads_to_the_search_and_it_finds_without_script_too(house, visit):
    moot = await house(CLERK, {})
    visitor = await visit(moot, "/docs/gate")

    await visitor.page.keyboard.press("/")
    await visitor.page.keyboard.type("idempotency key")
    await visitor.page.keyboard.press("Enter")

    await visitor.page.wait_for_url("**/docs?q=idempotency+key")
    assert await visitor.page.locator(".hits li").count() > 1
    plain = await visit(moot, "/docs", java_script_enabled=False)
    await plain.page.get_by_role("searchbox").fill("untrusted text")
    await plain.page.get_by_role("searchbox").press("Enter")
    await plain.page.locator(".hits a").first.click()
    await expect(plain.page.get_by_role("heading", name="Untrusted text")).to_be_in_viewport()


@pytest.mark.parametrize("path", ["/docs/agents", "/docs/reference/settings"])
async def test_nothing_sticks_out_on_a_phone(house, visit, path):
    visitor = await visit(await house(CLERK, {}), path, **PHONE)

    assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 390
    await visitor.page.get_by_role("link", name="Contents", exact=True).click()
    await expect(visitor.page.get_by_role("navigation", name="Contents")).to_be_in_viewport()


async def test_the_theme_of_the_page_holds_here_too(house, visit):
    visitor = await visit(await house(CLERK, {}), "/docs", color_scheme="light")
    ground = "getComputedStyle(document.querySelector('.docs-head')).backgroundColor"
    light = await visitor.page.evaluate(ground)

    await visitor.page.get_by_role("button", name="Switch light and dark").click()

    assert (light, await visitor.page.evaluate(ground)) == ("rgb(247, 248, 246)", "rgb(14, 17, 16)")


async def test_what_has_a_page_is_explained_by_a_button(house, visit):
    visitor = await visit(await house(CLERK, {}), "/runs")
    visitor.expected.add(404)
    await visitor.go("/graph?agent=nobody.ai")

    await visitor.page.get_by_role("link", name="What it means").click()

    await expect(visitor.page.get_by_role("heading", name="There is no such agent")).to_be_in_viewport()
