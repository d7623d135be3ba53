"""The task board shows where each task stands, and people act on tasks by forms."""

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.errand import Errand
from folkmoot.domain.task import Blocking
from tests.http.page import browsing

FILES = {"clerk": "tools: [tasks]", "ann": ""}
EVE = Author("eve")


async def started(page, *, agent="clerk", **wish):
    wish = {"description": "Sweep the yard", "steps": ("front", "back"), **wish}
    return await page.house.moot.moot.tasks.of(agent, EVE).start(NewTask(**wish), wish["description"])


def column(shown, name):
    return shown.between(f'aria-label="{name}"', "</section>")


async def test_each_task_stands_in_its_column_with_what_its_card_must_say(desk):
    """E-6: the five columns; steps done of all, owner, priority, what blocks it, what came of it."""
    async with browsing(desk(FILES, {})) as page:
        desk_of = page.house.moot.moot.tasks.of("clerk", EVE)
        await desk_of.add(NewTask("Later", priority="low", estimated_effort="small"), "a")
        await started(page, description="Ask first", requires_approval=True)
        await started(page, priority="urgent")
        blocked = await started(page, description="Stuck")
        await desk_of.block(Blocking("no key", ("ann",)), blocked.id)
        over = await started(page, description="Over", steps=())
        await desk_of.complete(over.id, "all is clean")

        shown = await page.get("/tasks")

        assert "Later clerk small" in column(shown, "Backlog")
        assert "Waits for you" in column(shown, "Needs approval")
        progress = column(shown, "In progress")
        assert "urgent" in progress
        assert "Now: front" in progress
        assert "clerk 0 of 2" in progress
        assert 'aria-label="0 of 2 steps"' in shown.html
        assert "no key; ann can help" in column(shown, "Blocked")
        assert "all is clean" in column(shown, "Completed")


async def test_the_board_is_narrowed_by_its_address(desk):
    async with browsing(desk(FILES, {})) as page:
        task = await started(page)
        await started(page, description="Other", agent="ann")

        assert "Other" not in (await page.get("/tasks?agent=clerk")).words
        assert "Sweep" not in (await page.get("/tasks?q=other")).words
        here = await page.get(f"/tasks?workSession={task.work_session_id}")
        assert "Sweep" in here.words
        assert "Other" not in here.words


async def test_a_wrong_form_is_shown_again_with_what_to_do_and_what_was_written(desk):
    async with browsing(desk(FILES, {})) as page:
        shown = await page.send("/tasks", agent="clerk", description="Paint", dueDate="soon")
        assert shown.status == 400
        assert "is a day such as 2026-01-31" in shown.words
        assert ">Paint</textarea>" in shown.html
        assert (await page.send("/tasks/none/approve")).status == 404
        task = await started(page)
        assert (await page.send(f"/tasks/{task.id}/burn")).status == 409


async def test_a_task_shows_the_runs_that_work_on_it(desk):
    async with browsing(desk(FILES, {"clerk": ["done"]})) as page:
        task = await started(page)
        await page.house.moot.run("clerk", "go on", errand=Errand(task=task.id))

        assert 'href="/runs/run-1"' in (await page.get(f"/tasks/{task.id}")).html
