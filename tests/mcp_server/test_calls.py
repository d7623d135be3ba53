"""Agents as tools, as the official client meets them: over pipes and HTTP, in both generations of the protocol."""

import asyncio

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from folkmoot import Folkmoot
from folkmoot.protocols.mcp import mcp_app
from folkmoot.protocols.mcp_offers import RESUME
from tests.mcp_server.conftest import AGENTS, Person, about, over_http, said, served, text


async def events(folder, run_id: str) -> list:
    async with Folkmoot.open(folder) as moot:
        return [entry.event async for entry in moot.events(run_id)]


async def only(folder, run_id: str, type: str):
    [event] = [event for event in await events(folder, run_id) if event.type == type]
    return event


async def test_every_agent_is_a_tool_with_what_its_file_says(connect_quickly):
    async with connect_quickly() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert tools.keys() == {*AGENTS, RESUME}
    assert tools["clerk"].description == "Knows the till.\n\nAsk how much is in it."
    assert tools["clerk"].input_schema["properties"]["request"]["type"] == "string"
    assert tools["doubler"].input_schema["properties"] == {"n": {"type": "integer"}}
    assert tools["doubler"].output_schema["required"] == ["twice"]


async def test_a_call_gives_the_report_and_tells_what_happens_meanwhile(connect):
    told = []

    async def hear(progress, total, message):
        told.append((progress, message))

    async with connect() as client:
        result = await client.call_tool("clerk", {"request": "How much?"}, progress_callback=hear)

    assert (text(result), result.is_error) == ("There are three.", False)
    assert told == [(1, "clerk starts"), (2, "clerk calls till__count"), (3, "clerk is done")]
    assert about(result)["status"] == "completed"
    assert about(result)["totals"]["modelRequests"] == 2
    assert about(result)["totals"]["costUsd"] > 0


async def test_an_agent_that_speaks_json_takes_and_gives_structures(connect_quickly):
    async with connect_quickly() as client:
        result = await client.call_tool("doubler", {"n": 2})
        refused = await client.call_tool("doubler", {"n": "two"})

    assert result.structured_content == {"twice": 4}
    assert text(result) == '{"twice":4}'
    assert refused.is_error
    assert "$.n: 'two' is not of type 'integer'" in text(refused)


async def test_a_failed_run_is_an_error_that_names_the_stage_and_the_run(connect_quickly, project):
    async with connect_quickly() as client:
        result = await client.call_tool("front", {"request": "Help."})

    assert result.is_error
    assert text(result).startswith("failed at broken: ")
    assert "the line is dead" in text(result)
    assert about(result)["runId"] in text(result)
    assert about(result)["stopReason"] == "SYSTEM_ERROR"
    assert (await events(project, about(result)["runId"]))[-1].type == "run.failed"


async def test_wrong_arguments_are_told_to_the_model_and_run_nothing(connect_quickly, project):
    wrong = [{}, {"request": 3}, {"request": "x", "more": 1}, {"request": "  "}]

    async with connect_quickly() as client:
        results = [await client.call_tool("clerk", arguments) for arguments in wrong]

    assert all(result.is_error and "clerk" in text(result) for result in results)
    async with Folkmoot.open(project) as moot:
        assert not await moot.runs()


async def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol(connect_quickly):
    async with connect_quickly() as client:
        with pytest.raises(MCPError, match="there is no tool 'nobody'"):
            await client.call_tool("nobody", {})


async def test_two_calls_run_at_once(connect):
    async with connect() as client:
        results = await asyncio.gather(*(client.call_tool("pair", {"request": "Hello"}) for _ in range(2)))

    assert [text(result) for result in results] == ["Both are here."] * 2
    assert len({about(result)["runId"] for result in results}) == 2


async def test_who_cancels_the_call_cancels_the_run(connect, project):
    begun = asyncio.Event()

    async def hear(progress, total, message):
        begun.set()

    async with connect() as client:
        call = asyncio.create_task(client.call_tool("slow", {"request": "Go."}, progress_callback=hear))
        await begun.wait()
        call.cancel()
        async with Folkmoot.open(project) as moot:
            [row] = await moot.runs()
            result = await moot.followed(row.run_id, wait=True)
        assert (await client.call_tool("doubler", {"n": 2})).structured_content == {"twice": 4}

    assert result.status == "cancelled"


async def test_an_approval_is_put_to_the_person_at_the_client_with_the_whole_call(connect, project):
    person = Person([said("accept", decision="approve")])
    async with connect(person) as client:
        result = await client.call_tool("payer", {"request": "Pay ann."})

    [shown] = person.shown
    assert '{"arguments":{"to":"ann\\u200b"},"tool":"till__pay"}' in shown
    assert text(result) == "So be it."
    approved = await only(project, about(result)["runId"], "approval.approved")
    assert approved.by == "mcp:mcp"
    assert (await only(project, about(result)["runId"], "tool.finished")).text == "paid ann\u200b"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("accept", decision="deny", reason="not before Friday"), "not before Friday"),
        (said("decline"), "declined at the client"),
    ],
)
async def test_a_no_is_told_to_the_agent_with_its_reason(connect_quickly, project, answer, reason):
    async with connect_quickly(Person([answer])) as client:
        result = await client.call_tool("payer", {"request": "Pay ann."})

    assert text(result) == "So be it."
    assert (await only(project, about(result)["runId"], "approval.denied")).reason == reason
    assert "tool.finished" not in [event.type for event in await events(project, about(result)["runId"])]


async def test_a_question_is_put_to_the_person_at_the_client(connect_quickly, project):
    person = Person([said("accept", answer="the red one")])
    async with connect_quickly(person) as client:
        result = await client.call_tool("asker", {"request": "Choose."})

    assert "Which one?" in person.shown[0]
    assert text(result) == "Thanks."
    assert (await only(project, about(result)["runId"], "question.answered")).text == "the red one"


async def test_who_says_nothing_is_not_asked_twice_and_the_run_waits(connect_quickly):
    person = Person([said("cancel")])
    async with connect_quickly(person) as client:
        result = await client.call_tool("payer", {"request": "Pay ann."})

    assert len(person.shown) == 1
    assert result.is_error
    assert about(result)["status"] == "waiting"


async def test_a_client_that_asks_nobody_is_told_what_waits_and_goes_on_when_it_is_answered(connect, project):
    async with connect() as client:
        waiting = await client.call_tool("payer", {"request": "Pay ann."})
        run_id, [item] = about(waiting)["runId"], about(waiting)["waiting"]
        again = await client.call_tool(RESUME, {"run": run_id})
        async with Folkmoot.open(project) as moot:
            [asked] = await moot.inbox(run_id)
            await moot.reply(asked.approve("somebody else"))
        done = await client.call_tool(RESUME, {"run": run_id})

    assert waiting.is_error
    assert f"folkmoot approvals approve {item}" in text(waiting)
    assert RESUME in text(waiting)
    assert about(again)["status"] == "waiting"
    assert (text(done), about(done)["runId"]) == ("So be it.", run_id)


async def test_who_resumes_a_run_that_another_has_just_taken_up_is_told_how_it_goes_on(
    connect_quickly, project
):
    """K-31: what takes a run up because it was answered records that a moment later."""
    async with connect_quickly() as client, Folkmoot.open(project) as moot:
        run_id = about(await client.call_tool("payer", {"request": "Pay ann."}))["runId"]
        [asked] = await moot.inbox(run_id)
        await moot.reply(asked.approve("somebody else"))
        claim = await moot.moot.journal.claim(run_id, "another process", 60.0)
        resuming = asyncio.create_task(client.call_tool(RESUME, {"run": run_id}))
        await client.call_tool("clerk", {"request": "How much?"})  # which is done after the other was begun
        await moot.moot.journal.release(claim)

        assert text(await resuming) == "So be it."


async def test_somebody_at_the_client_is_somebody_whatever_is_said_of_nobody(connect_quickly, project):
    """`unattended: deny` is for runs that nobody can be asked about."""
    with (project / "folkmoot.yaml").open("a") as settings:
        settings.write("approvals: {unattended: deny}\n")
    person = Person([said("accept", decision="approve")])
    async with connect_quickly(person) as client:
        asked = await client.call_tool("payer", {"request": "Pay ann."})
    async with connect_quickly() as client:
        unasked = await client.call_tool("payer", {"request": "Pay ann."})

    types = [[event.type for event in await events(project, about(one)["runId"])] for one in (asked, unasked)]
    assert "approval.approved" in types[0]
    assert "approval.expired" in types[1]


async def test_an_answer_may_come_after_the_server_was_started_anew(project):
    async with over_http(project, mode="2026-07-28", elicitation_callback=Person()) as client:
        question = await client.session.call_tool("payer", {"request": "Pay ann."}, allow_input_required=True)
    [item] = question.input_requests
    async with over_http(project, mode="2026-07-28", elicitation_callback=Person()) as client:
        result = await client.call_tool(
            "payer",
            {"request": "Pay ann."},
            input_responses={item: said("accept", decision="approve")},
            request_state=question.request_state,
        )

    assert (text(result), about(result)["runId"]) == ("So be it.", question.request_state)


async def test_only_a_run_that_there_is_can_be_resumed(connect_quickly):
    async with connect_quickly() as client:
        unknown = await client.call_tool(RESUME, {"run": "20260101-000000-00000000"})
        unnamed = await client.call_tool(RESUME, {})

    assert "there is no run '20260101-000000-00000000'" in text(unknown)
    assert "takes the id of a run" in text(unnamed)


async def test_a_call_goes_on_only_with_a_run_of_its_own_agent(project):
    """What a client sends back is not trusted: it names a run, and the journal says whose it is."""
    async with Folkmoot.open(project) as moot, served(mcp_app(moot)) as address, Client(address) as client:
        waiting = (await moot.run("payer.ai", "Pay ann.")).run_id
        for state in ("nothing", waiting):
            with pytest.raises(MCPError, match="the requestState is none"):
                await client.call_tool("clerk", {"request": "x"}, request_state=state)
