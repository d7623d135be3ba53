"""The list of runs, and one of them."""

import pytest
from playwright.async_api import expect

OVERLAPS = """() => [...document.querySelectorAll(".op.failed")].filter((op) =>
  op.querySelector(".what").getBoundingClientRect().right > op.querySelector(".lane").getBoundingClientRect().left
).length"""


async def test_a_run_is_in_the_list_with_its_state(house, visit):
    moot = await house({"clerk": "description: A clerk."}, {"clerk": ["On its way."]})

    await moot.run("clerk.ai", "Where is my parcel?")
    visitor = await visit(moot, "/runs")

    assert await visitor.texts("main .title") == ["Where is my parcel?"]


async def test_the_list_follows_what_happens_and_keeps_the_row_that_has_the_focus(house, visit):
    moot = await house({"clerk": "description: A clerk."}, {"clerk": ["On its way."]})
    await moot.run("clerk.ai", "Where is my parcel?")
    visitor = await visit(moot, "/runs")
    await visitor.page.keyboard.press("j")

    await moot.run("clerk.ai", "And where is the other one?")

    await expect(visitor.page.locator("main .title")).to_have_count(2, timeout=15_000)
    await expect(visitor.page.locator("#day dd").first).to_contain_text("2")
    await expect(visitor.page.get_by_role("link", name="Where is my parcel?")).to_be_focused()


async def test_a_folded_row_hides_what_is_below_it(house, visit):
    moot = await house({"clerk": "description: A clerk."}, {"clerk": ["On its way."]})
    run = (await moot.run("clerk.ai", "Where is my parcel?")).run_id
    visitor = await visit(moot, f"/runs/{run}")
    rows = visitor.page.locator("#fall .op")
    await expect(rows).to_have_count(2)

    await rows.first.focus()
    await visitor.page.keyboard.press("ArrowLeft")
    await expect(rows.nth(1)).not_to_be_visible()
    await visitor.page.keyboard.press("ArrowRight")
    await expect(rows.nth(1)).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390], ids=["wide", "phone"])
async def test_a_reason_without_a_space_in_it_stays_where_it_belongs(house, visit, width):
    script = {"clerk": [{"error": {"message": "x" * 900, "retryable": False}}]}
    moot = await house({"clerk": "description: A clerk."}, script)
    run = (await moot.run("clerk.ai", "Where is my parcel?")).run_id

    visitor = await visit(moot, f"/runs/{run}", viewport={"width": width, "height": 844})

    assert await visitor.page.evaluate("document.documentElement.scrollWidth") == width
    assert await visitor.page.evaluate(OVERLAPS) == 0
