"""A whole collaboration, looked at on the page: what the team did and what came of it."""

import re

from tests.engine.test_collaboration import Workplace
from tests.http.page import browsing

LINE = r'<span class="chip line">([a-z ]+)</span></span><span class="text">([^<]*)'


async def test_the_page_tells_what_a_team_did_and_what_came_of_it(tmp_path):
    """D-42, D-30, D-8: from the goal to the summary, in order, with plan, votes, change of owner and review."""
    workplace = Workplace(tmp_path)
    await workplace.gather()
    await workplace.carry_on()
    async with browsing(workplace) as page:
        work = await page.get(f"/work-sessions/{workplace.id}")

        lines = re.findall(LINE, work.html)
        told = " | ".join(text for _, text in lines)
        expected = (
            "opens the work session", "forms the team", "planner makes a plan", "planner submits the plan",
            "approves the plan", "commits the plan", "coder starts step s1", "coder completes step s1",
            "coder is blocked on step s2", "step s2 is reassigned from coder to operator",
            "operator completes step s2", "reopens step s2", "completes the work session",
        )  # fmt: skip
        places = [told.find(each) for each in expected]
        assert -1 not in places, dict(zip(expected, places, strict=True))
        assert places == sorted(places)
        assert {"plan", "step", "tool", "handoff", "decision", "snapshot", "task"} <= {
            kind for kind, _ in lines
        }
        assert "Plan · done · 100 %" in work.words
        assert "The shop has a health check" in work.between("What came of it", "</div>")
        for address in re.findall(r'href="(/work-sessions/[^"]+/artifacts/[^"]+)"', work.html):
            assert (await page.get(address)).status == 200

        [address] = set(re.findall(r'href="(/decisions/[^"]+)"', work.html))
        decision = await page.get(address)
        assert "2 + lead" in decision.words
        assert "Tie broken" in decision.words
        assert "approved by lead" in (await page.get("/inbox")).words
        team = await page.get("/team")
        assert "coder · worker lead · lead operator · worker" in team.words
        assert "failing" not in team.words


async def test_errors_stand_in_the_timeline(desk):
    """D-8: a run that fails, and the tool call that was refused."""
    fault = {"error": {"message": "no money left", "retryable": False}}
    call = {"calls": [{"tool": "nothing"}]}
    async with browsing(desk({"clerk": ""}, {"clerk": [call, fault]})) as page:
        await page.house.moot.run("clerk", "sweep")
        [row] = await page.house.folds.work_rows()

        told = (await page.get(f"/work-sessions/{row.id}")).between('id="timeline"', "</div>")

        assert "clerk is asked: sweep" in told
        assert "no money left" in told
