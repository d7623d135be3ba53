"""Agents that another program runs, declared like local ones: served by the official SDK, asked by a whole project."""

import asyncio

import pytest

from folkmoot import FakeClock, Folkmoot, MemoryJournal, Surroundings
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.part import File
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import DeclarationError, Untrusted
from folkmoot.models import a2a
from folkmoot.ports import NewRun, Query
from folkmoot.tools.consent import ConsentStore
from folkmoot.tools.wanted import wanted_items
from tests.desk import blocks, made_mine
from tests.files import PNG
from tests.remote_agent import TOKEN, Helper, serving

POLICY = "The policy is thirty days."


@pytest.fixture
def helper():
    return Helper()


def remote(url, more=""):
    return f"---\ndescription: Knows the policy.\nremote: {{url: {url}}}\n{more}---\n"


def unhurried(desk):
    """With real time, in which a call that is cut off comes to its end."""
    desk.clock = SystemClock()
    return desk


async def test_it_advises(desk, helper):
    """A-30: its report stands in the block of an advisor, as everybody's does."""
    async with serving(helper) as url:
        played = await desk(
            {"front": "advisors: [helper.ai]", "helper": remote(url)}, {"front": ["fine"]}
        ).run("front.ai")

    assert played.report == "fine"
    assert blocks(played.prompt("front"))[1] == ("advisory", "helper", POLICY)
    assert 'runtime="0 tool calls; what a remote agent did is not seen here"' in played.prompt("front")
    assert helper.texts == [["I want my money back"]]
    assert played.types.count("llm.request") == 2


async def test_a_router_sends_a_request_to_it(desk, helper):
    script = {"front": [{"route": {"agent": "helper", "message": "Look it up."}}]}
    async with serving(helper) as url:
        played = await desk(
            {"front": "router: {destinations: [helper.ai]}", "helper": remote(url)}, script
        ).run("front.ai")

    assert (played.report, played.result.final_agent_id) == (POLICY, "helper")
    ((told,),) = helper.texts
    assert "I want my money back" in told
    assert "Look it up." in told


async def test_it_answers_after_another(desk, helper):
    async with serving(helper) as url:
        played = await desk({"front": "handoff: helper.ai", "helper": remote(url)}, {"front": ["done"]}).run(
            "front.ai"
        )

    assert played.report == POLICY
    assert played.result.final_agent_id == "helper"


async def test_it_is_a_tool_and_reads_what_its_file_says_first(desk, helper):
    script = {"front": [{"calls": [{"tool": "agent__helper", "arguments": CALL}]}, {"report": "thirty"}]}
    files = {"front": "agents: [helper.ai]"}
    async with serving(helper) as url:
        played = await desk({**files, "helper": f"{remote(url)}Be brief."}, script).run("front.ai")

    assert played.report == "thirty"
    (result,) = played.events("tool.finished")
    assert POLICY in result.text
    assert helper.texts == [["Be brief.", "What is the policy?"]]


CALL = {"prompt": "What is the policy?", "reason": "to know it"}


async def test_what_an_agent_has_heard_from_others_goes_out_only_with_a_persons_word(desk, helper):
    """C7: who calls it sends text to another machine, so the gate looks at it as at every other such call."""
    call = {"tool": "agent__helper", "arguments": CALL}
    script = {"front": [{"calls": [call]}, {"calls": [{**call}]}, {"report": "thirty"}]}
    async with serving(helper) as url:
        made = desk({"front": "agents: [helper.ai]", "helper": remote(url)}, script)
        played = await made.run("front.ai")

    assert played.result.status == "waiting"
    (item,) = played.result.inbox
    assert (item.tool, len(helper.heard)) == ("agent__helper", 1)


async def test_it_stays_within_the_budget_of_its_caller(desk, helper):
    """O-33: its requests are requests of the run, and the last one is its caller's."""
    files = {"front": "advisors: [helper.ai]\nbudget: {requests: 1}"}
    async with serving(helper) as url:
        played = await desk({**files, "helper": remote(url)}, {"front": ["fine"]}).run("front.ai")

    (failed,) = played.events("advisor.failed")
    assert failed.error == "budget exceeded: 1 requests of 'front'"
    assert (played.report, helper.heard) == ("fine", [])


async def test_its_failure_is_told_like_that_of_any_other(desk, helper):
    async with serving(helper) as url:
        played = await desk({"helper": remote(url)}, {}).run("helper.ai", "do it badly")

    assert played.result.error == (
        "no model answered after 1 attempt; the last: remote:helper.ai failed: the line is dead"
    )


async def test_a_run_that_is_cancelled_cancels_the_task_there(desk, helper, monkeypatch):
    monkeypatch.setattr(a2a, "_GOODBYE", 60.0)  # however busy the machine is
    async with serving(helper) as url, unhurried(desk({"helper": remote(url)}, {})).open() as moot:
        running = asyncio.create_task(moot.run("helper.ai", "slowly"))
        await helper.began.wait()
        await moot.cancel("run-1")
        result = await running

    assert result.status == "cancelled"
    assert len(helper.cancelled) == 1


async def test_a_run_cut_off_while_it_works_asks_it_for_the_outcome_alone(desk, helper):
    """C3: the journal ends with the request, as after a crash; nothing is sent a second time."""
    async with serving(helper) as url:
        made = desk({"helper": remote(url)}, {})
        done = await made.run("helper.ai")
        entries = [entry async for entry in made.journal.read(Query(stream="run-1"))]
        cut = next(n for n, entry in enumerate(entries, 1) if isinstance(entry.event, LlmRequest))
        graph = await made.journal.artifact(entries[0].event.graph)
        tools = await made.journal.artifact(entries[0].event.tools)
        made.journal = MemoryJournal(made.clock.monotonic)
        for content in (graph, tools):
            made.journal.keep(content)
        await made.journal.append("run-1", NewRun("nobody", 0.0), [entry.draft for entry in entries[:cut]])
        async with made.open() as moot:
            again = await moot.resume("run-1")

    assert again.final_report == done.result.final_report
    assert len(helper.heard) == 1


async def test_a_run_with_one_is_replayed_without_it(desk, helper):
    """C4: the record is enough, though nobody is at the address any more."""
    async with serving(helper) as url:
        made = desk({"helper": remote(url)}, {})
        await made.run("helper.ai")
    async with made.open() as moot:
        assert (await moot.replay("run-1")).equal


async def test_json_that_does_not_fit_its_schema_is_no_report(desk, helper):
    schema = "output: {format: json, schema: {type: object, required: [n]}}\n"
    async with serving(helper) as url:
        made = desk({"helper": remote(url, schema)}, {})
        good = await made.run("helper.ai", "as data")
        made.identity = type(made.identity)("run-2", "another seed")
        bad = await made.run("helper.ai", "What is the policy?")

    assert good.result.final_report.content_json == {"n": 4}
    assert bad.result.final_report.metadata == {"reason": "schema_violated"}


async def test_its_token_comes_from_the_environment_and_appears_nowhere(tmp_path, helper):
    async with serving(helper, token=TOKEN) as url:
        (made_mine(tmp_path) / "helper.ai").write_text(
            f"---\nremote: {{url: {url}, apiKeyEnv: HELPER_TOKEN}}\n---\n"
        )
        clock = FakeClock()
        journal = MemoryJournal(clock.monotonic)
        around = Surroundings(env={"HELPER_TOKEN": TOKEN}, clock=clock, journal=journal)
        async with Folkmoot.open(tmp_path, around=around) as moot:
            result = await moot.run("helper.ai", f"What is the policy? {TOKEN}")
        async with Folkmoot.open(tmp_path, around=Surroundings(env={}, clock=clock, journal=journal)) as moot:
            with pytest.raises(DeclarationError, match="set the environment variable HELPER_TOKEN"):
                await moot.run("helper.ai", "What is the policy?")

    assert result.final_report.content == POLICY
    assert TOKEN not in str([entry async for entry in journal.read(Query())])


async def test_an_address_elsewhere_is_asked_only_after_it_was_trusted(tmp_path):
    """A foreign address, and a pair of address and variable, need the user's word; loopback without a key needs none."""
    file = tmp_path / "helper.ai"
    env: dict[str, str] = {}
    file.write_text("---\nremote: {url: https://desk.example/a2a/helper, apiKeyEnv: HELPER_TOKEN}\n---\n")
    around = Surroundings(env=env, journal=MemoryJournal(FakeClock().monotonic))

    with pytest.raises(Untrusted) as refused:
        async with Folkmoot.open(tmp_path, around=around):
            pass
    assert (
        "send requests of the remote agent 'helper.ai' to https://desk.example/a2a/helper"
        " with the key in $HELPER_TOKEN" in str(refused.value)
    )
    file.write_text("---\nremote: {url: https://desk.example/a2a/helper}\n---\n")
    with pytest.raises(Untrusted):
        async with Folkmoot.open(tmp_path, around=around):
            pass
    file.write_text("---\nremote: {url: 'http://127.0.0.1:1/a2a/helper', apiKeyEnv: HELPER_TOKEN}\n---\n")
    with pytest.raises(Untrusted, match="HELPER_TOKEN"):  # K-4: whatever listens there
        async with Folkmoot.open(tmp_path, around=around):
            pass
    file.write_text("---\nremote: {url: 'http://127.0.0.1:1/a2a/helper'}\n---\n")
    async with Folkmoot.open(tmp_path, around=around) as moot:
        assert ConsentStore().missing(tmp_path, wanted_items(tmp_path, moot.graph)) == []


async def test_what_is_attached_to_a_request_goes_along(desk, helper):
    async with serving(helper) as url, desk({"helper": remote(url)}, {}).open() as moot:
        await moot.run("helper.ai", "What is this?", attachments=[File("dot.png", PNG)])

    text, image = helper.heard[0].parts
    assert (text.text, image.raw, image.media_type, image.filename) == (
        "What is this?",
        PNG,
        "image/png",
        "dot.png",
    )
