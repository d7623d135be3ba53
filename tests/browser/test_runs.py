"""The list of runs, and one of them."""

import pytest
from playwright.async_api import expect

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.errand import Errand

OVERLAPS = """() => [...document.querySelectorAll(".op.failed")].filter((op) =>
  op.querySelector(".what").getBoundingClientRect().right > op.querySelector(".lane").getBoundingClientRect().left
).length"""
BEYOND = """() => [...document.querySelectorAll(".head *, .card, .card *, .choices *")].filter((each) => {
  const box = each.getBoundingClientRect(), room = each.closest(".lane-col, .choices, .head").getBoundingClientRect();
  return box.width && box.right > room.right + 1;
}).map((each) => each.outerHTML.slice(0, 80))"""


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


@pytest.mark.parametrize("width", [1440, 390], ids=["wide", "phone"])
async def test_long_names_stay_on_their_page(house, visit, width):
    names = ["n" * 64, "o" * 64]
    moot = await house({name: "" for name in names}, {name: ["Done."] for name in names})
    run = (await moot.run(names[0], "x", errand=Errand(label="l" * 200))).run_id
    first = await anext(moot.events(run))
    await moot.moot.tasks.of(names[0], Author("eve")).start(NewTask("t" * 200), "a")
    visitor = await visit(moot, f"/runs/{run}", viewport={"width": width, "height": 844})

    for path in (f"/runs/{run}", f"/work-sessions/{first.draft.work_session_id}", "/tasks", "/start"):
        await visitor.go(path)
        assert (path, await visitor.page.evaluate(BEYOND)) == (path, [])
