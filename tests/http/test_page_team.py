"""The team screen says of each agent how it stands and what it works on."""

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.work_session import WorkSessionOpened
from tests.http.page import browsing

FAULT = {"error": {"message": "no money left", "retryable": False}}


async def test_each_agent_has_role_health_task_last_activity_and_failures(desk):
    """E-6, D-42."""
    at = desk(
        {"boss": "role: lead", "clerk": "description: sweeps", "idle": ""}, {"boss": ["ok"], "clerk": [FAULT]}
    )
    async with browsing(at) as page:
        await page.house.moot.run("clerk", "sweep")
        await page.house.moot.moot.tasks.of("clerk", Author("eve")).start(NewTask("Sweep the yard"), "a")

        shown = await page.get("/team")

        clerk = shown.between('id="agent-clerk"', '<div class="item')
        assert "unsteady clerk sweeps worker Sweep the yard in progress now 1 in a row" in clerk
        assert "no money left" in clerk
        assert "lead" in shown.between('id="agent-boss"', '<div class="item')
        assert "well idle worker nothing never" in shown.between('id="agent-idle"', "</main>")


async def test_the_teams_of_work_sessions_are_listed(desk):
    async with browsing(desk({"boss": "role: lead", "clerk": ""}, {})) as page:
        sessions = page.house.moot.moot.work_sessions
        made = await sessions.open(WorkSessionOpened("Clean up"), chance="a")
        await sessions.form(made.id, [Seat("lead"), Seat("worker")])

        assert "Clean up TeamFormed boss · lead clerk · worker" in (await page.get("/team")).words
