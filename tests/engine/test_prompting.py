"""The prompt that is made again from the journal is the one that was sent, message by message, in every pattern."""

import pytest

from folkmoot.errors import WrongUse
from tests.orchestration import test_team
from tests.orchestration.test_strategies import at_clerk, script
from tests.views.test_timeline import FILES, SCRIPT


async def agree(project, played):
    """Of each request that a model heard: the same from the journal."""
    sent = {(asked.session, asked.turn, asked.attempt): asked.messages for asked in played.model.heard}
    async with project.open() as moot:
        for place, draft in enumerate(played.drafts, start=1):
            if draft.event.type == "llm.request":
                again = await moot.prompt("run-1", place)
                assert again == sent.pop((draft.session_id, draft.event.turn, draft.event.attempt))
    assert not sent


async def test_advisors_routes_handoffs_and_agents_as_tools(desk):
    project = desk(FILES, SCRIPT)
    await agree(project, await project.run("desk.ai"))


async def test_a_team_whose_conversations_go_on(desk):
    project = desk(test_team.FILES, test_team.SAID)
    await agree(project, await project.run("chief", "make it work"))


@pytest.mark.parametrize("strategy", ["plan_and_execute", "plan_and_react", "spar"])
async def test_an_agent_that_works_in_parts(desk, strategy):
    said = script(executor=["counted"]) if strategy == "plan_and_execute" else script()
    project = at_clerk(desk, strategy, said)
    await agree(project, await project.run("clerk"))


async def test_an_entry_that_is_no_request_is_refused(desk):
    project = desk(FILES, SCRIPT)
    await project.run("desk.ai")
    async with project.open() as moot:
        with pytest.raises(WrongUse, match="no request to a model at entry 1"):
            await moot.prompt("run-1", 1)
        with pytest.raises(WrongUse, match="no request to a model at entry 9000"):
            await moot.prompt("run-1", 9_000)
