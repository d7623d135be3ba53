"""The published conformance suite, against a project whose agents are called as the suite wants."""

import asyncio
import re
from pathlib import Path

import pytest

from folkmoot import Folkmoot
from folkmoot.protocols.mcp import mcp_app
from tests.mcp_server.conftest import served, write
from tests.npm import installed

HERE = Path(__file__).parent
ANYTHING = "input: {format: json, schema: {type: object}}"
SCHEMA = """
input:
  format: json
  schema:
    $schema: https://json-schema.org/draft/2020-12/schema
    type: object
    $defs: {address: {type: object, properties: {street: {type: string}, city: {type: string}}}}
    properties: {name: {type: string}, address: {$ref: "#/$defs/address"}}
    additionalProperties: false
"""
AGENTS = {
    "test_simple_text": ANYTHING,
    "test_error_handling": ANYTHING,
    "test_tool_with_progress": f"{ANYTHING}\ntools: [till.count]",
    "test_elicitation": f"{ANYTHING}\ntools: [ask_user]",
    "json_schema_2020_12_tool": SCHEMA,
}
SCRIPT = {
    "test_simple_text": ["This is a simple text response for testing."],
    "test_error_handling": [{"error": {"message": "it fails on purpose", "retryable": False}}],
    "test_tool_with_progress": [{"calls": [{"tool": "till.count"}]}, {"report": "done"}],
    "test_elicitation": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Who are you?"}}]},
        {"report": "thanks"},
    ],
}


@pytest.fixture(scope="session")
def suite(request):
    return installed(request.config, HERE) / "conformance"


async def test_the_published_suite_passes_but_for_what_no_agent_gives(project, suite):
    for file in project.glob("*.ai"):
        file.unlink()
    write(project, AGENTS, SCRIPT)
    options = ["--suite", "all", "--expected-failures", str(HERE / "conformance.yaml")]

    async with Folkmoot.open(project) as moot, served(mcp_app(moot)) as address:
        running = await asyncio.create_subprocess_exec(
            suite, "server", "--url", address, *options, cwd=project, stdout=asyncio.subprocess.PIPE
        )
        said = (await running.communicate())[0].decode()

    passed = re.findall(r"^✓ ([\w-]+): [1-9]", said, re.MULTILINE)
    assert running.returncode == 0, said
    assert passed == [
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "tools-call-elicitation",
        "json-schema-2020-12",
        "server-sse-multiple-streams",
        "resources-list",
        "dns-rebinding-protection",
    ]
