"""Whole runs with a provider on loopback: they are recorded, priced, resumed and replayed, whatever the wire."""

import json

import pytest

from folkmoot import FakeClock, Folkmoot, MemoryJournal, Surroundings
from folkmoot.domain.events import LlmResponse
from folkmoot.engine.local import encode_graph
from folkmoot.engine.replay import replay_run
from folkmoot.ports import NewRun
from tests.desk import Desk, unclaimed
from tests.fakes import fake
from tests.models.gemini import MODEL, calling, refused, said, text
from tests.models.provider import KEY, answered, streamed

AGENT = """
description: Counts lamps.
tools: [count]
output:
  format: json
  schema: {type: object, properties: {lamps: {type: integer}}, required: [lamps]}
"""
PAUSE = 7.25
REPORT = calling("agent__final_report", report_format="json", content_json={"lamps": 3})


count = fake("count(what)", "3 {what}")


class Leaping(FakeClock):
    """The pause that a test expects passes at once; nothing else does."""

    async def sleep(self, seconds):
        if seconds != PAUSE:
            await super().sleep(seconds)
        self._elapsed += seconds


class ProviderDesk(Desk):
    """A project whose model is a provider on loopback."""

    def __init__(self, folder, declared, agent, tools=()):
        settings = (
            f"providers: {{fake: {{{declared}, apiKeyEnv: FAKE_KEY}}}}\nmodels: {{default: fake/{MODEL}}}"
        )
        super().__init__(folder, {"clerk": agent}, {}, settings=settings, tools=list(tools))

    def open(self):
        around = Surroundings(
            env={"FAKE_KEY": KEY}, clock=self.clock, journal=self.journal, identify=lambda _: self.identity
        )
        return Folkmoot.open(self.folder, tools=self.tools, around=around)


@pytest.fixture
def gemini_desk(tmp_path, provider):
    declared = f"kind: pydantic-ai, provider: google, baseUrl: 'http://127.0.0.1:{provider.port}'"
    price = "price: {input: 0.75, output: 3.75, cacheRead: 0.075}, contextWindow: 100000"
    return ProviderDesk(tmp_path, f"{declared}, {price}", AGENT, [count])


async def test_an_agent_works_with_tools_and_reports_by_its_schema(gemini_desk, provider):
    """Cached tokens are priced as such: 800 of 1,000 at a tenth."""
    provider.plays = [
        answered(said(text("I count."), calling("count", what="lamps"))),
        answered(said(REPORT, promptTokenCount=1000, candidatesTokenCount=10, cachedContentTokenCount=800)),
    ]

    played = await gemini_desk.run("clerk.ai", "How many lamps?")

    assert played.result.final_report.content_json == {"lamps": 3}
    asked = [event.model for event in played.events("llm.request")]
    assert asked == [f"fake/{MODEL}"] * 2
    _, second = played.events("llm.response")
    assert (second.usage.tokens_in, second.usage.tokens_cache_read) == (1000, 800)
    assert second.cost_usd == pytest.approx((200 * 0.75 + 800 * 0.075 + 10 * 3.75) / 1_000_000)
    assert KEY not in str(played.drafts)


async def test_a_busy_server_is_asked_again_after_the_time_it_named(gemini_desk, provider):
    provider.plays = [answered(refused(429, "slow down"), 429, retry_after="7.25"), answered(said(REPORT))]
    gemini_desk.clock = Leaping()

    played = await gemini_desk.run("clerk.ai")

    (failed,) = played.events("llm.failed")
    assert (failed.retryable, failed.retry_after) == (True, PAUSE)
    assert gemini_desk.clock.monotonic() == PAUSE
    assert played.result.final_report.content_json == {"lamps": 3}


async def test_whoever_looks_on_hears_it_piece_by_piece(gemini_desk, provider):
    pieces = (said(text(piece), finish=None) for piece in ("I ", "see."))
    provider.plays = [streamed(*pieces, said(REPORT))]
    heard = []

    async with gemini_desk.open() as moot:
        await moot.run("clerk.ai", "?", hear=lambda *piece: heard.append(piece[-1]))

    assert "".join(heard) == "I see."


async def test_a_run_cut_anywhere_goes_on_to_the_same_journal_and_happens_again(gemini_desk, provider):
    """C4: nothing that was answered is asked for twice, and a replay asks nobody."""
    plays = [answered(said(text("I count."), calling("count", what="lamps"))), answered(said(REPORT))]
    provider.plays = plays
    whole = await gemini_desk.run("clerk.ai")
    again = await replay_run(gemini_desk.journal, "run-1")
    assert (again.equal, again.divergence) == (True, "")
    assert len(provider.asked) == 2

    for cut in range(1, len(whole.drafts), 3):
        given = sum(isinstance(draft.event, LlmResponse) for draft in whole.drafts[:cut])
        provider.plays, provider.asked = plays[given:] or [[]], []
        gemini_desk.journal = MemoryJournal(gemini_desk.clock.monotonic)
        async with gemini_desk.open() as moot:
            gemini_desk.journal.keep(encode_graph(moot.graph))
            await gemini_desk.journal.append("run-1", NewRun("host/0/0/gone", 0.0), whole.drafts[:cut])
            played = await gemini_desk.played(await moot.resume("run-1"))

        assert unclaimed(played.drafts) == whole.drafts, f"cut after event {cut}"
        assert len(provider.asked) == 2 - given


async def test_a_compatible_server_that_refuses_strict_tools_breaks_no_run(tmp_path, provider):
    """The refusal is no attempt of the session's, and is met once."""
    declared = (
        f"kind: openai, baseUrl: 'http://127.0.0.1:{provider.port}/v1', price: free, contextWindow: 100000"
    )
    desk = ProviderDesk(tmp_path, declared, AGENT, [count])
    arguments = json.dumps({"report_format": "json", "content_json": {"lamps": 3}})
    counting = {"id": "c1", "function": {"name": "count", "arguments": '{"what": "lamps"}'}}
    reporting = {"id": "c2", "function": {"name": "agent__final_report", "arguments": arguments}}
    provider.plays = [
        answered({"error": {"message": "tools[0].function: unknown field strict"}}, 400),
        *(answered({"choices": [{"message": {"tool_calls": [one]}}]}) for one in (counting, reporting)),
    ]

    played = await desk.run("clerk.ai")

    assert played.result.final_report.content_json == {"lamps": 3}
    assert [b'"strict":true' in asked.raw for asked in provider.asked] == [True, False, False]
    assert played.types.count("llm.request") == 2
    assert "llm.failed" not in played.types
