"""The graph of agents, with its problems marked."""

DESK = {
    "desk": "description: Sorts requests.\nadvisors: [law.ai]\nrouter: {destinations: [billing.ai]}\ncapabilities: [sorting]",
    "law": "description: Knows the law.",
    "billing": "tools: [files.write]",
}


async def test_an_agent_is_opened_from_the_drawing_with_what_it_may_call_and_why(house, visit):
    moot = await house(DESK, {})
    visitor = await visit(moot, "/graph")

    assert await visitor.texts(".node .nm") == ["desk", "billing", "law"]
    assert sorted(await visitor.texts(".graph > .label")) == ["advises", "routes"]
    await visitor.page.get_by_label("billing, billing.ai").focus()
    await visitor.page.keyboard.press("Enter")
    await visitor.page.wait_for_url("**/graph?agent=billing.ai")

    drawer = await visitor.page.locator(".drawer").inner_text()
    assert "files__write" in drawer
    assert "billing.ai names 'files.write' in `tools`" in drawer
    await visitor.page.go_back()
    assert await visitor.page.locator(".drawer").count() == 0


async def test_what_is_wrong_with_the_files_by_now_is_marked_and_told(house, visit, tmp_path):
    moot = await house(DESK, {})
    (tmp_path / "billing.ai").write_text("---\nhandoff: desk.ai\n---\nx")
    (tmp_path / "law.ai").write_text("---\ncolour: red\n---\nx")

    visitor = await visit(moot, "/graph")

    assert await visitor.texts(".node.bad .nm") == ["billing", "desk", "law"]
    assert await visitor.page.locator(".edge.bad:not(.legend *)").count() == 2
    told = await visitor.texts(".problem")
    assert any("agents wait for each other: billing.ai -> desk.ai -> billing.ai" in text for text in told)
    assert any("colour" in text for text in told)
    assert await visitor.texts(".head .state") == ["2 errors"]


async def test_changed_files_are_told_from_those_the_server_runs(house, visit, tmp_path):
    moot = await house(DESK, {})
    (tmp_path / "law.ai").write_text("---\ndescription: Knows more law.\n---\nx")

    visitor = await visit(moot, "/graph")

    assert "The files have changed" in (await visitor.texts(".left .callout"))[0]
