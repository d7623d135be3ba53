"""Costs by agent, model and day, and what is left of budgets."""

SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml, contextWindow: 32000, price: {input: 1000, output: 2000}}}
models: {default: scripted/any}
budget: {usd: 50.0, requests: 4}
"""


async def test_costs_and_budgets_are_shown_and_go_on_with_new_runs(house, visit):
    moot = await house(
        {"desk": "handoff: clerk.ai", "clerk": ""}, {"desk": ["hm"], "clerk": ["ok"]}, SETTINGS
    )
    first = await moot.run("desk.ai", "One")
    visitor = await visit(moot, "/costs")

    assert sorted(await visitor.texts("section:has(#by-agent) tbody th")) == ["clerk", "desk"]
    assert await visitor.texts("section:has(#by-model) tbody th") == ["scripted/any"]
    assert await visitor.texts(".budgeted tbody td:last-child") == ["2 left of 4"]

    await moot.run("clerk.ai", "Two")
    await visitor.go("/costs")
    assert await visitor.texts("section:has(#by-model) tbody td:nth-child(3)") == ["3"]

    await visitor.go(f"/costs?run={first.run_id}")
    assert await visitor.texts("section:has(#by-model) tbody td:nth-child(3)") == ["2"]


async def test_without_costs_there_is_a_word_about_how_to_get_some(house, visit):
    moot = await house({"desk": ""}, {})
    visitor = await visit(moot, "/costs?since=7d")

    assert "Nothing was spent here" in (await visitor.texts(".blank"))[0]
