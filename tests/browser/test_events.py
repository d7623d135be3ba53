"""The list of events: filters in the address, cursors, the exact entry, new ones by themselves."""

from playwright.async_api import expect

CLERK = {"clerk": "description: A clerk."}
SAID = {"clerk": ["On its way."]}


async def test_filters_are_in_the_address(house, visit):
    """D-28, E-6"""
    moot = await house(CLERK, SAID)
    await moot.run("clerk.ai", "Where is it?")
    visitor = await visit(moot, "/events")

    await visitor.page.get_by_label("Types", exact=True).fill("llm.*")
    await visitor.page.get_by_label("Agent", exact=True).fill("clerk")
    await visitor.page.get_by_role("button", name="Filter").click()
    await visitor.page.wait_for_url("**/events?type=llm.**agent=clerk**")

    shown = await visitor.texts(".events .title")
    assert shown
    assert all(type.startswith("llm.") for type in shown)


async def test_an_event_is_shown_exactly_as_it_was_written(house, visit):
    moot = await house(CLERK, SAID)
    await moot.run("clerk.ai", "Where is it?")
    visitor = await visit(moot, "/events?type=run.started")

    await visitor.page.get_by_role("link", name="run.started").click()

    await expect(visitor.page.locator(".drawer pre").first).to_contain_text('"request": "Where is it?"')
    assert "type=run.started&at=1" in visitor.page.url


async def test_older_events_are_a_page_away_and_nothing_is_twice_or_missing(house, visit):
    moot = await house(CLERK, SAID)
    for number in range(20):
        await moot.run("clerk.ai", f"Question {number}")
    visitor = await visit(moot, "/events")

    numbers, older = ".events .item > :first-child", visitor.page.get_by_role("link", name="Older")
    seen = await visitor.texts(numbers)
    while await older.count():
        await older.click()
        await expect(visitor.page.locator(numbers).first).to_have_text(str(int(seen[-1]) - 1))
        await visitor.page.wait_for_load_state()
        seen += await visitor.texts(numbers)

    assert seen == [str(number) for number in range(await moot.position(), 0, -1)]


async def test_new_events_appear_by_themselves(house, visit):
    moot = await house(CLERK, SAID)
    visitor = await visit(moot, "/events?type=run.completed")
    assert await visitor.texts(".events .title") == []

    await moot.run("clerk.ai", "One")
    await expect(visitor.page.locator(".events .title")).to_have_count(1)
    await moot.run("clerk.ai", "Two")
    await expect(visitor.page.locator(".events .title")).to_have_count(2)

    numbers = [int(text) for text in await visitor.texts(".events .item > :first-child")]
    assert numbers == sorted(numbers, reverse=True)


async def test_a_moment_that_is_none_is_refused_in_words(house, visit):
    moot = await house(CLERK, SAID)
    visitor = await visit(moot, "/events")
    visitor.expected = {400}

    await visitor.go("/events?since=yesterday-ish")

    assert "is no moment" in await visitor.page.content()
