"""What all screens share: keys, theme, the way through with Tab, phones, and reading without JavaScript."""

import pytest
from playwright.async_api import expect

CLERK = {"clerk": "description: A clerk."}
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.mark.parametrize(
    ("keys", "path"), [("gr", "/runs"), ("gg", "/graph"), ("gs", "/costs"), ("ge", "/events")]
)
async def test_g_and_a_letter_go_to_a_screen(house, visit, keys, path):
    visitor = await visit(await house(CLERK, {}), "/more")

    await visitor.page.keyboard.type(keys)
    await visitor.page.wait_for_url(f"**{path}")


async def test_single_keys_are_off_while_typing(house, visit):
    visitor = await visit(await house(CLERK, {}), "/events")

    await visitor.page.keyboard.press("/")
    await visitor.page.keyboard.type("gr?nj")

    assert await visitor.page.get_by_label("Types", exact=True).input_value() == "gr?nj"
    assert visitor.page.url.endswith("/events")
    await expect(visitor.page.get_by_role("dialog")).not_to_be_visible()


async def test_the_overlay_shows_all_keys_and_escape_closes_it(house, visit):
    visitor = await visit(await house(CLERK, {}), "/runs")

    await visitor.page.keyboard.press("?")
    dialog = visitor.page.get_by_role("dialog", name="All keys")
    await expect(dialog).to_be_visible()
    assert "Next failure" in await dialog.inner_text()

    await visitor.page.keyboard.press("Escape")
    await expect(dialog).not_to_be_visible()


async def test_rows_are_walked_with_j_and_k_and_escape_closes_what_is_open(house, visit):
    moot = await house(CLERK, {"clerk": ["ok"]})
    await moot.run("clerk.ai", "x")
    visitor = await visit(moot, "/events")

    for key in "jjk":
        await visitor.page.keyboard.press(key)
    await expect(visitor.page.locator(".events .title").first).to_be_focused()
    await visitor.page.keyboard.press("Enter")
    await expect(visitor.page.get_by_role("complementary")).to_be_visible()
    await visitor.page.wait_for_load_state()  # the keys come with the scripts, after the text
    await visitor.page.keyboard.press("Escape")

    await expect(visitor.page.get_by_role("complementary")).not_to_be_visible()


async def test_the_first_stop_of_tab_skips_to_the_content_and_the_ring_is_seen(house, visit):
    visitor = await visit(await house(CLERK, {}), "/runs")

    await visitor.page.keyboard.press("Tab")
    skip = visitor.page.get_by_role("link", name="Skip to content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await visitor.page.keyboard.press("Tab")

    assert await visitor.page.locator(":focus").evaluate("e => getComputedStyle(e).outlineWidth") == "2px"


async def test_the_theme_follows_the_system_until_somebody_chooses_and_is_kept(house, visit):
    visitor = await visit(await house(CLERK, {}), "/runs", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = await visitor.page.evaluate(ground)

    await visitor.page.get_by_role("button", name="Switch light and dark").click()
    light = await visitor.page.evaluate(ground)
    await visitor.go("/graph")

    assert (dark, light) == ("rgb(14, 17, 16)", "rgb(247, 248, 246)")
    assert await visitor.page.evaluate(ground) == light


@pytest.mark.parametrize(
    "path", ["/runs", "/graph", "/graph?agent=clerk.ai", "/costs", "/events", "/events?at=1", "/more"]
)
async def test_a_phone_has_tabs_and_nothing_sticks_out(house, visit, path):
    moot = await house(CLERK, {"clerk": ["ok"]})
    await moot.run("clerk.ai", "x" * 300)
    visitor = await visit(moot, path, **PHONE)

    tabs = visitor.page.get_by_role("navigation", name="Main").get_by_role("link")
    assert [text.strip() for text in await tabs.all_inner_texts()][-1] == "More"
    box = await visitor.page.locator(".rail").bounding_box()
    assert box["y"] > 700
    assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 390


async def test_motion_stops_for_whoever_wants_it_so(house, visit):
    visitor = await visit(await house(CLERK, {}), "/events", reduced_motion="reduce")

    icon = visitor.page.locator(".head .state .icon")

    assert await icon.evaluate("e => getComputedStyle(e).animationName") == "none"


async def test_everything_can_be_read_without_javascript(house, visit):
    moot = await house(CLERK, {"clerk": ["ok"]})
    await moot.run("clerk.ai", "Where is it?")
    visitor = await visit(moot, "/events?type=run.started", java_script_enabled=False)

    await visitor.page.get_by_role("link", name="run.started").click()

    await expect(visitor.page.locator(".drawer pre").first).to_contain_text("Where is it?")


async def test_what_waits_is_counted_on_every_screen(house, visit):
    ask = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}
    moot = await house({"clerk": "tools: [ask_user]"}, {"clerk": [ask, "done"]})
    visitor = await visit(moot, "/graph")
    count = visitor.page.locator("#count-inbox")
    await expect(visitor.page.locator("#live")).to_contain_text("Live · event 0")
    await expect(count).to_be_empty()

    await moot.run("clerk", "hello")

    await expect(count).to_have_text("1 wait for you", timeout=60_000)
    await expect(visitor.page.locator("#live")).to_contain_text(
        f"Live · event {await moot.position()}", timeout=60_000
    )


@pytest.mark.parametrize("look", [{}, PHONE], ids=["wide", "phone"])
async def test_a_page_says_when_nobody_keeps_it_up_to_date_and_goes_on_by_itself(house, visit, look):
    visitor = await visit(await house(CLERK, {}), "/runs", **look)
    lost = visitor.page.locator("#lost")
    await expect(visitor.page.locator("#live")).not_to_be_empty()
    await expect(lost).not_to_be_visible()

    await visitor.page.route("**/*", lambda route: route.abort())
    await expect(lost).to_contain_text("The server does not answer", timeout=60_000)
    await visitor.page.unroute("**/*")
    await expect(lost).not_to_be_visible(timeout=60_000)

    visitor.expected.add(401)
    await visitor.page.route("**/*", lambda route: route.fulfill(status=401))
    await expect(lost).to_contain_text("You are signed out", timeout=60_000)
    await visitor.page.unroute_all(behavior="wait")
    await visitor.page.close()  # it asks again and again, and what it got is told on its console
    visitor.scandals[:] = [each for each in visitor.scandals if not each.startswith("console")]
