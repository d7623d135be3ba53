"""A work session shows its state, its plan and what happened in order; people pause it, let it go on, cancel it."""

import re

from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination import plans as life
from folkmoot.coordination.plans import PlanWish, StepWish
from folkmoot.coordination.record_store import Author
from folkmoot.domain.decision import Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.http.pages import work
from tests.http.page import browsing

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]}
FILES = {"clerk": "tools: [ask_user]\nhandoff: closing.ai", "closing": ""}
EVE = Author("eve")


async def opened(page, goal="Clean the yard"):
    return await page.house.moot.moot.work_sessions.open(WorkSessionOpened(goal), EVE, chance="a")


async def test_the_timeline_shows_each_kind_in_order_of_time(desk):
    """D-8, D-30, D-42: plan, step, tool call, handoff, decision, approval; the order is that of time."""
    at = desk(FILES, {"clerk": [ASK, "done"], "closing": ["all done"]})
    async with browsing(at) as page:
        moot, made = page.house.moot.moot, await opened(page)
        wish = PlanWish(
            "A plan", (StepWish("sweep it", owner="clerk", acceptance="clean"),), work_session=made.id
        )
        plan = await moot.plans.draft(EVE, wish, chance="b", submitted=True)
        await moot.plans.change(plan.id, EVE, life.approve, committed=True)
        await moot.plans.change(plan.id, EVE, steps.start, "s1")
        await at.clock.advance(1)
        await page.house.moot.run("clerk", "sweep", errand=Errand(work_session=made.id))
        [item] = [item for item in await page.house.moot.inbox() if item.is_open]
        await page.send(f"/inbox/{item.id}", word="answer", text="that one")
        await page.rest()
        await at.clock.advance(1)
        proposal = Proposal("Which?", (Option("a"), Option("b")), (Voter("x"),), work_session=made.id)
        await moot.decisions.propose(EVE, proposal, "c")

        shown = await page.get(f"/work-sessions/{made.id}")

        kinds = re.findall(r'<span class="chip line">([a-z ]+)</span></span><span class="text">', shown.html)
        assert {"plan", "step", "tool", "handoff", "decision", "approval", "run"} <= set(kinds)
        times = re.findall(r'<time class="quiet mono" datetime="([^"]+)"', shown.html)
        assert times == sorted(times)
        assert len(set(times)) > 1
        assert "sweep it" in shown.words
        assert "Plan · committed · 0 %" in shown.words
        only = await page.get(f"/work-sessions/{made.id}?kind=decision")
        assert set(
            re.findall(r'<span class="chip line">([a-z ]+)</span></span><span class="text">', only.html)
        ) == {"decision"}


async def test_a_paused_work_session_asks_no_model_until_it_is_resumed(desk):
    """D-10."""
    at = desk(FILES, {"clerk": [ASK, "done"], "closing": ["all done"]})
    async with browsing(at) as page:
        made = await opened(page)
        await page.house.moot.run("clerk", "sweep", errand=Errand(work_session=made.id))
        await page.send(f"/work-sessions/{made.id}/pause", reason="lunch", by="eve")
        assert "Paused: lunch" in (await page.get(f"/work-sessions/{made.id}")).words
        asked = len(at.model.heard)

        [item] = [item for item in await page.house.moot.inbox() if item.is_open]
        await page.send(f"/inbox/{item.id}", word="answer", text="that one")
        await page.rest()
        assert len(at.model.heard) == asked

        await page.send(f"/work-sessions/{made.id}/resume")
        await page.rest()
        assert (await page.house.moot.result("run-1")).status == "completed"


async def test_the_list_names_what_is_worked_on_with_category_and_activity(desk):
    """E-9, E-78, E-83."""
    async with browsing(desk(FILES, {})) as page:
        made = await opened(page, "[Goal] Refund the order of a customer")
        await page.send(f"/work-sessions/{made.id}/label", label="The refund")

        shown = await page.get("/work-sessions?category=customer_community&q=refund")
        assert "Active · 1" in shown.words
        assert "The refund" in shown.words
        assert "customer/community" in shown.words
        assert "The refund" not in (await page.get("/work-sessions?q=nothing")).words
        await page.send(f"/work-sessions/{made.id}/category", category="legal_compliance")
        assert "set by hand" in (await page.get(f"/work-sessions/{made.id}")).words


async def test_the_list_comes_in_pages(desk, monkeypatch):
    """K-83: of thousands only some are sent."""
    monkeypatch.setattr(work, "PAGE", 2)
    at = desk(FILES, {})
    async with browsing(at) as page:
        for goal in ("first", "second", "third"):
            sessions = page.house.moot.moot.work_sessions
            await sessions.open(WorkSessionOpened(f"The {goal}"), EVE, chance=goal)
            await at.clock.advance(1)

        newer = await page.get("/work-sessions")
        (link,) = re.findall(r'href="/work-sessions\?(after=[^"]+)">Older', newer.html)
        older = await page.get(f"/work-sessions?{link}")

        assert [goal in newer.words for goal in ("The third", "The second", "The first")] == [
            True,
            True,
            False,
        ]
        assert [goal in older.words for goal in ("The third", "The second", "The first")] == [
            False,
            False,
            True,
        ]
        assert "Older" not in older.words


async def test_what_came_of_it_can_be_read_as_plain_text(desk):
    async with browsing(desk(FILES, {})) as page:
        made = await opened(page)
        sessions = page.house.moot.moot.work_sessions
        kept = await sessions.add_artifact(made.id, "doc", "Notes", b"<script>x()</script>")
        shown = await page.get(f"/work-sessions/{made.id}/artifacts/{kept.artifacts[0].artifact}")

        assert shown.html == "<script>x()</script>"
        assert shown.type == "text/plain; charset=utf-8"
        assert (await page.get(f"/work-sessions/{made.id}/artifacts/none")).status == 404
