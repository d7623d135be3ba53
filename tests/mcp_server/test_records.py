"""Runs and reports as resources, for the agents that a client may call."""

import json

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from folkmoot import Folkmoot
from folkmoot.protocols import mcp_offers
from folkmoot.protocols.mcp import mcp_app
from tests.mcp_server.conftest import about, served, text


async def test_runs_and_reports_can_be_read(connect):
    async with connect() as client:
        run_id = about(await client.call_tool("clerk", {"request": "How much?"}))["runId"]
        failed = about(await client.call_tool("broken", {"request": "How much?"}))["runId"]
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        runs, run, report = [
            (await client.read_resource(f"folkmoot://runs{path}")).contents[0]
            for path in ("", f"/{run_id}", f"/{run_id}/report")
        ]

    assert uris == [
        "folkmoot://runs",
        f"folkmoot://runs/{failed}",
        f"folkmoot://runs/{run_id}",
        f"folkmoot://runs/{run_id}/report",
    ]
    assert [template.uri_template for template in templates] == [
        "folkmoot://runs/{id}",
        "folkmoot://runs/{id}/report",
    ]
    assert [row["status"] for row in json.loads(runs.text)] == ["failed", "completed"]
    assert json.loads(run.text)["finalReport"]["content"] == "There are three."
    assert (report.text, report.mime_type) == ("There are three.", "text/plain")


@pytest.mark.parametrize("uri", ["folkmoot://runs/none", "folkmoot://runs/none/report", "file:///etc/passwd"])
async def test_what_is_not_there_is_an_error_that_names_it(connect_quickly, uri):
    async with connect_quickly() as client:
        with pytest.raises(MCPError, match="there is no resource") as error:
            await client.read_resource(uri)

    assert error.value.error.data == {"uri": uri}


async def test_a_long_list_comes_in_pages_and_nothing_twice(connect_quickly, monkeypatch):
    monkeypatch.setattr(mcp_offers, "PAGE", 2)
    async with connect_quickly() as client:
        runs = [about(await client.call_tool("doubler", {"n": 2}))["runId"] for _ in range(2)]
        first = await client.list_resources()
        await client.call_tool("doubler", {"n": 2})
        second = await client.list_resources(cursor=first.next_cursor)
        third = await client.list_resources(cursor=second.next_cursor)
        with pytest.raises(MCPError, match="is no cursor of this list"):
            await client.list_resources(cursor="nowhere")

    names = [resource.name for page in (first, second, third) for resource in page.resources]
    assert names == ["runs", runs[1], f"{runs[1]}/report", runs[0], f"{runs[0]}/report"]
    assert third.next_cursor is None


async def test_a_client_sees_and_resumes_only_the_runs_of_agents_that_it_may_call(project):
    """Whoever is offered one agent does not learn what the others were asked."""
    async with Folkmoot.open(project) as moot, served(mcp_app(moot, ["clerk.ai"])) as address:
        result = await moot.run("payer.ai", "Pay ann.")
        async with Client(address) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            listed = (await client.list_resources()).resources
            resumed = await client.call_tool("folkmoot__resume", {"run": result.run_id})
            with pytest.raises(MCPError, match="there is no resource"):
                await client.read_resource(f"folkmoot://runs/{result.run_id}")

    assert tools == ["clerk", "folkmoot__resume"]
    assert [resource.uri for resource in listed] == ["folkmoot://runs"]
    assert "there is no run" in text(resumed)
