"""What the page of a run says at its top: the answer, or why there is none, and how its time was spent."""

from tests.desk import SETTINGS
from tests.http.page import browsing

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which card?"}}]}
LIMIT = SETTINGS + "budget: {wall: 10m}\n"


async def test_twenty_minutes_without_an_answer_are_waiting_and_no_active_time(desk):
    """K-80: head, meter and axis of a run that asks, waits for 20 minutes in an inbox, and goes on."""
    project = desk({"a": "tools: [ask_user]"}, {"a": [ASK, "Paid back."]}, settings=LIMIT)
    async with browsing(project) as page:
        started = await page.send("/start", agent="a.ai", request="Twice!")
        await page.rest()
        await project.clock.advance(1200)
        waiting = await page.get(started.location)
        (item,) = await page.house.moot.inbox()
        await page.send(f"/inbox/{item.id}", text="the blue one", word="answer")
        await page.rest()
        over = await page.get(started.location)

    for shown in (waiting, over):
        assert "20 m 00 s 0.0 s active, 20 m 00 s waiting" in shown.words
        assert "Wall time 0.0 s of 10 m" in shown.words
