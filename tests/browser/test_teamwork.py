"""What people have agents do from the page of a work session, in a real browser."""

import re

import pytest_asyncio
from playwright.async_api import expect

from folkmoot import Folkmoot, Surroundings
from folkmoot.coordination import plans as life
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.coordination.record_store import Author
from folkmoot.domain.work_session import WorkSessionOpened
from tests.examples import copied

EVE = Author("eve")
NASTY = "<img src=x onerror=alert(1)>"


async def test_a_step_is_carried_out_by_a_click_and_done_with_its_run(house, visit):
    """Issue 7, D-15: `plans run` from the page; what a plan says is text."""
    moot = await house({"clerk": "", "boss": "role: lead"}, {"clerk": [f"swept {NASTY}"]})
    desks = moot.moot
    work = await desks.work_sessions.open(WorkSessionOpened("Clean the yard"), EVE, chance="a")
    owned = (StepWish(f"sweep {NASTY}", "clerk", "clean"), StepWish("look at it", "user", "seen"))
    plan = await desks.plans.draft(
        EVE, PlanWish("Yard", owned, work_session=work.id), chance="b", submitted=True
    )
    await desks.plans.change(plan.id, EVE, life.approve, committed=True)
    visitor = await visit(moot, f"/work-sessions/{work.id}")

    await visitor.page.get_by_role("button", name="Run").click()
    await expect(visitor.page).to_have_url(re.compile("/runs/[0-9a-f]+"))
    run = visitor.page.url.rpartition("/")[2]
    assert (await moot.followed(run)).status == "completed"
    await visitor.go(f"/work-sessions/{work.id}")

    await expect(visitor.page.get_by_role("list", name="Steps")).to_contain_text(f"swept {NASTY}")
    await expect(visitor.page.get_by_role("button", name="Run")).to_have_count(0)
    assert (await desks.plans.get(plan.id)).steps[0].status == "done"


@pytest_asyncio.fixture(loop_scope="session")
async def team(tmp_path):
    """The example of five agents, whose models answer at once."""
    copied("collaboration", tmp_path)
    async with Folkmoot.open(tmp_path, around=Surroundings(env={})) as moot:
        yield moot


async def test_a_team_is_given_a_goal_by_a_form_and_reaches_it(team, visit):
    """Issue 7, D-39: `collaborate` from the page."""
    visitor = await visit(team, "/work-sessions")

    await visitor.page.get_by_label("Goal").fill(f"Add a health check to the shop {NASTY}")
    await visitor.page.get_by_role("button", name="Let them begin").click()
    await expect(visitor.page).to_have_url(re.compile("/work-sessions/ws_"))
    async for entry in team.events(visitor.page.url.rpartition("/")[2], follow=True):
        if entry.event.type == "work_session.completed":
            break
    await visitor.page.reload()

    await expect(visitor.page.locator(".head .facts")).to_contain_text("Completed")
    await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text(NASTY)
    await expect(visitor.page.get_by_role("button", name="Carry on")).to_have_count(0)


async def test_a_team_without_a_lead_is_told_so_where_it_was_called(house, visit):
    moot = await house({"clerk": ""}, {"clerk": ["hi"]})
    visitor = await visit(moot, "/work-sessions")
    visitor.expected.add(409)

    await visitor.page.get_by_label("Goal").fill("Anything")
    await visitor.page.get_by_role("button", name="Let them begin").click()

    await expect(visitor.page.get_by_role("alert")).to_contain_text("the team has no lead")
