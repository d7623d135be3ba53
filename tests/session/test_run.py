"""One agent, one conversation, seen from outside: what its model was sent and what its journal holds."""

import asyncio

import pytest

from folkmoot import tool
from tests.desk import SETTINGS, look
from tests.fakes import fake

FINAL = "agent__final_report"


@tool(effect="pure", access="read")
async def shout(size: int) -> str:
    """Say much."""
    return "é" * size


fail = fake("fail", RuntimeError("it broke"))


def calls(*tools, **arguments):
    return {"calls": [{"tool": name, "arguments": arguments} for name in tools]}


async def test_an_agent_without_patterns_is_asked_exactly_what_the_user_said(desk):
    """A-17, A-24: the wrapper adds nothing."""
    played = await desk({"a": ""}, {"a": [{"report": "hello"}]}).run("a.ai", "hi <there>")

    heard = played.model.heard[0]
    assert [(message.role, message.text) for message in heard.messages] == [
        ("system", "You are a."),
        ("user", "hi <there>"),
    ]
    assert [spec.name for spec in heard.tools] == [FINAL]
    assert played.report == "hello"
    assert played.types == [
        "run.started",
        "session.started",
        "llm.request",
        "llm.response",
        "session.completed",
        "run.completed",
    ]


async def test_a_workflow_needs_no_central_configuration(desk):
    """A-16: the files name their next hops; only the model is set for all."""
    files = {
        "a": "advisors: [b.ai]\nrouter: {destinations: [c.ai]}",
        "b": "",
        "c": "handoff: d.ai",
        "d": "",
    }
    said = {"a": [{"route": {"agent": "c"}}], "b": ["x"], "c": ["y"], "d": ["z"]}
    played = await desk(files, said).run("a.ai")

    assert played.report == "z"


async def test_calls_of_one_turn_run_together(desk):
    """O-42: each waits until both are under way."""
    meet = fake("meet", "met", does=asyncio.Barrier(2).wait)
    played = await desk({"a": "tools: [meet]"}, {"a": [calls("meet", "meet"), "ok"]}, tools=[meet]).run(
        "a.ai"
    )

    assert [m.text for m in played.model.heard[1].messages[-2:]] == ["met", "met"]


async def test_a_tool_that_breaks_is_told_to_the_model_and_the_run_goes_on(desk):
    played = await desk({"a": "tools: [fail]"}, {"a": [calls("fail"), "sorry"]}, tools=[fail]).run("a.ai")

    assert played.model.heard[1].messages[-1].text == "(tool failed: RuntimeError: it broke)"
    assert played.report == "sorry"


async def test_a_tool_that_takes_too_long_is_told_as_a_timeout(desk):
    at = desk({"a": "tools: [hang]\ntoolTimeout: 2s"}, {"a": [calls("hang"), "gave up"]})
    at.tools = [fake("hang", "late", does=lambda: at.clock.sleep(3600))]
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a.ai", "hi"))
        await at.clock.advance(3)
        await running

    assert at.model.heard[1].messages[-1].text == "(tool failed: timeout)"


async def test_a_long_result_is_cut_and_kept_whole_as_an_artifact(desk):
    at = desk(
        {"a": "tools: [shout]\ntoolResponseMaxBytes: 101"},
        {"a": [calls("shout", size=100), "ok"]},
        tools=[shout],
    )
    played = await at.run("a.ai")

    finished = played.events("tool.finished")[0]
    assert played.model.heard[1].messages[-1].text == finished.text
    assert finished.text.startswith("é" * 50 + "\n[100 more bytes left out")
    assert (await at.journal.artifact(finished.artifact)).decode() == "é" * 100


async def test_a_result_that_does_not_fit_the_context_forces_the_last_turn(desk):
    """Requirements 1.1, the context guard with the model's real window."""
    settings = SETTINGS.replace("scripted/any", "{ref: scripted/any, contextWindow: 4000}")
    files = {"a": "tools: [shout]\ntoolResponseMaxBytes: 100000"}
    said = {"a": [calls("shout", size=9000), {"report": "too much"}]}
    played = await desk(files, said, settings=settings, tools=[shout]).run("a.ai")

    assert played.model.heard[1].messages[-1].text == "(tool failed: context window budget exceeded)"
    assert played.offered("a", 1) == [FINAL]
    assert played.report == "too much"


async def test_every_attempt_is_recorded_and_accounted_and_the_next_model_answers(desk):
    """B-52's rule: models in order, each attempt an entry."""
    script = {"a": [{"attempts": [{"error": {"message": "overloaded", "status": 529}}, {"text": "hi"}]}]}
    played = await desk({"a": "models: [scripted/one, scripted/two]"}, script).run("a.ai")

    assert [(e.type, e.name, e.status) for e in played.result.accounting] == [
        ("llm", "scripted/one", "failed"),
        ("llm", "scripted/two", "ok"),
    ]
    assert [request.model for request in played.model.heard] == ["one", "two"]


async def test_the_same_model_is_asked_again_after_a_pause(desk):
    script = {"a": [{"attempts": [{"error": {"message": "slow down", "retryAfter": "20s"}}, {"text": "hi"}]}]}
    at = desk({"a": ""}, script)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a.ai", "hi"))
        await at.clock.advance(19)
        assert len(at.model.heard) == 1
        await at.clock.advance(1)
        assert (await running).success


@pytest.mark.parametrize(
    ("budget", "limit"),
    [("tokens: 300", "300 tokens of 'a'"), ("usd: 0.000001", "1e-06 USD of 'a'")],
)
async def test_a_budget_stops_a_run_before_the_request_and_names_the_limit(desk, budget, limit):
    settings = SETTINGS.replace("scripted/any", "{ref: scripted/any, price: {input: 1, output: 1}}")
    played = await desk({"a": f"budget: {{{budget}}}"}, {"a": ["x"]}, settings=settings).run("a.ai")

    assert played.result.stop_reason == "BUDGET_EXCEEDED"
    assert limit in played.result.error
    assert played.model.heard == []
    assert played.types[-3:] == ["budget.exceeded", "session.failed", "run.failed"]


async def test_wall_time_ends_a_request_that_takes_longer(desk):
    at = desk({"a": "budget: {wall: 10s}"}, {"a": [{"delay": "1h", "text": "late"}]})
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a.ai", "hi"))
        await at.clock.advance(12)
        result = await running

    assert result.stop_reason == "BUDGET_EXCEEDED"
    assert "10 s wall time of 'a'" in result.error


async def test_cost_is_what_the_provider_says_or_the_price_times_the_tokens(desk):
    settings = SETTINGS.replace("scripted/any", "{ref: scripted/any, price: {input: 1, output: 10}}")
    used = {"text": "x", "usage": {"tokensIn": 1_000_000, "tokensOut": 100_000}}
    played = await desk(
        {"a": "handoff: b.ai", "b": ""}, {"a": [used], "b": [{**used, "costUsd": 0.5}]}, settings=settings
    ).run("a")

    assert [entry.cost_usd for entry in played.result.accounting] == [2.0, 0.5]
    assert played.result.totals.cost_usd == 2.5


async def test_an_answer_that_the_provider_did_not_count_is_charged_by_estimate(desk):
    """Pains 2: never silently free."""
    settings = SETTINGS.replace("scripted/any", "{ref: scripted/any, price: {input: 1, output: 1}}")
    uncounted = {"text": "x" * 300, "usage": {"tokensIn": 0, "tokensOut": 0}}
    played = await desk({"a": ""}, {"a": [uncounted]}, settings=settings).run("a.ai")

    assert played.events("llm.response")[0].guessed
    assert played.result.totals.tokens_out == 101
    assert played.result.totals.cost_usd > 0


async def test_doubled_and_empty_call_ids_are_made_sound_before_they_are_sent_back(desk):
    answer = {"calls": [{"tool": "look", "id": "x", "arguments": {"where": w}} for w in ("a", "b")]}
    played = await desk({"a": "tools: [look]"}, {"a": [answer, "ok"]}, tools=[look]).run("a.ai")

    messages = played.model.heard[1].messages
    assert [call.id for call in messages[2].calls] == ["call_1_1", "call_1_2"]
    assert [(m.answers, m.text) for m in messages[3:]] == [("call_1_1", "seen a"), ("call_1_2", "seen b")]


async def test_what_no_store_can_hold_is_replaced_on_the_way_in(desk):
    odd = fake("odd", "a\x00b\ud800c\u2028d")
    played = await desk({"a": "tools: [odd]"}, {"a": [calls("odd"), "ok"]}, tools=[odd]).run("a.ai")

    assert played.model.heard[1].messages[-1].text == "a\ufffdb\ufffdc\u2028d"


async def test_the_journal_shows_the_flow_with_its_causes(desk):
    """A-106."""
    files = {
        "a": "advisors: [law.ai]\nrouter: {destinations: [b.ai]}\nhandoff: c.ai",
        "law": "",
        "b": "",
        "c": "",
    }
    played = await desk(files, {"law": ["l"], "a": [{"route": {"agent": "b"}}], "b": ["b"], "c": ["c"]}).run(
        "a"
    )

    flow = [(d.span, d.event.cause) for d in played.drafts if d.event.type == "session.started"]
    assert flow == [
        ("0/advisor:law", "advisor"),
        ("0", ""),
        ("0/route:b", "route"),
        ("0/handoff:c", "handoff"),
    ]
    tree = played.result.op_tree
    around = [(op.name, op.child_session.cause) for op in tree.turns[0].ops]
    assert around == [("law", "advisor"), ("b", "route"), ("c", "handoff")]
