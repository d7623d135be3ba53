"""The list of runs."""


async def test_a_run_is_in_the_list_with_its_state(house, visit):
    moot = await house({"clerk": "description: A clerk."}, {"clerk": ["On its way."]})

    await moot.run("clerk.ai", "Where is my parcel?")
    visitor = await visit(moot, "/runs")

    assert await visitor.texts("main .title") == ["Where is my parcel?"]
