"""A chat with an agent is one work session; each message is a run that knows what was said before."""

import asyncio

import pytest

from folkmoot import ScriptedModel
from tests.http.page import browsing
from tests.orchestration.test_gate import FETCH, Disk, save

ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which one?"}}]}


async def test_a_chat_goes_on_in_one_work_session_and_the_agent_knows_what_was_said(desk):
    """D-7: what was said is there after a restart."""
    at = desk({"clerk": ""}, {"clerk": ["*Hello* Eve."]})
    async with browsing(at) as page:
        sent = await page.send("/chat", agent="clerk", text="I am Eve")
        assert sent.status == 303
        await page.rest()
        again = await page.send(sent.location, text="Who am I?")
        assert again.location == sent.location
        await page.rest()

    assert "earlier_request" in at.model.heard[1].messages[-1].text
    assert "I am Eve" in at.model.heard[1].messages[-1].text
    async with browsing(at) as page:
        shown = await page.get(sent.location)
        words = shown.words
        assert words.index("I am Eve") < words.index("Hello Eve.") < words.index("Who am I?")
        assert "<em>Hello</em>" in shown.html
        assert "every 1s" not in shown.html


@pytest.mark.parametrize("read", [False, True])
async def test_what_was_read_for_an_earlier_answer_counts_for_the_next(desk, read):
    """K-6: the answer of a run that has read the web goes into the next turn."""
    disk = Disk()
    rules = [
        {"when": "saved a.txt", "report": "saved"},
        {"when": "Now save it", "calls": [save()]},
        {"when": "Look it up", "calls": [FETCH]} if read else {"when": "Look it up", "report": "So it is."},
    ]
    script = {"clerk": {"rules": rules, "default": "So it is."}}
    at = desk({"clerk": "tools: [fetch, save]"}, script, tools=disk.tools)
    async with browsing(at) as page:
        sent = await page.send("/chat", agent="clerk", text="Look it up")
        await page.rest()
        await page.send(sent.location, text="Now save it")
        await page.rest()
        waiting = await page.house.moot.inbox()
        shown = [(await page.get(f"/inbox/{item.id}")).words for item in waiting]

    assert disk.saved == ([] if read else ["a.txt"])
    assert ["the session has read what fetch gave clerk in turn 1" in words for words in shown] == [
        True
    ] * read


class Hesitant(ScriptedModel):
    """Says one word, and the rest when it is let."""

    def __init__(self, script):
        super().__init__(script)
        self.said, self.go_on = asyncio.Event(), asyncio.Event()

    async def answer(self, request, hear=None):
        hear("Slowly")
        self.said.set()
        await self.go_on.wait()
        return await super().answer(request)


async def test_while_the_agent_writes_its_words_come_in(desk):
    """D-7: the page asks again as long as the answer is on its way."""
    at = desk({"clerk": ""}, {})
    at.model = Hesitant({"clerk": ["Slowly but surely."]})
    async with browsing(at) as page:
        sent = await page.send("/chat", agent="clerk", text="hello")
        await at.model.said.wait()
        turns = await page.get(f"{sent.location}/turns")
        assert "clerk writing Slowly writing" in turns.words
        assert "every 1s" in turns.html
        refused = await page.send(sent.location, text="hurry")
        assert refused.status == 409
        assert "still answering" in refused.words

        at.model.go_on.set()
        await page.rest()

        turns = await page.get(f"{sent.location}/turns")
        assert "Slowly but surely." in turns.words
        assert "every 1s" not in turns.html


async def test_a_run_that_waits_says_for_whom(desk):
    """D-26, D-38."""
    async with browsing(desk({"clerk": "tools: [ask_user]"}, {"clerk": [ASK, "done"]})) as page:
        sent = await page.send("/chat", agent="clerk", text="hello")
        await page.rest()

        shown = await page.get(sent.location)
        [item] = await page.house.moot.inbox()
        assert "Waits for you: Which one?" in shown.words
        assert f'href="/inbox/{item.id}"' in shown.html


async def test_what_cannot_be_sent_is_said_in_the_form(desk):
    async with browsing(desk({"clerk": ""}, {})) as page:
        empty = await page.send("/chat", agent="clerk", text="")
        assert empty.status == 409
        assert "there is nothing to send" in empty.words
        nobody = await page.send("/chat", agent="nobody", text="hello")
        assert nobody.status == 404
        assert "this project has no agent 'nobody'" in nobody.words
        assert ">hello</textarea>" in nobody.html
