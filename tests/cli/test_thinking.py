"""A run that thinks, against a server that sees what comes back: whole, killed and resumed, or on another model."""

import asyncio
import json
import os
from base64 import b64encode

import pytest

from tests.cli.conftest import PROGRAM
from tests.files import PNG
from tests.models.provider import Do, FakeProvider, answered

SETTINGS = """
providers:
  one: {{kind: anthropic, baseUrl: "http://127.0.0.1:{port}/v1", price: free, contextWindow: 50000}}
  two: {{kind: anthropic, baseUrl: "http://127.0.0.1:{port}/v1", price: free, contextWindow: 50000}}
"""
AGENT = """---
models: [one/claude-opus-4-5, two/claude-haiku-4-5]
tools: [files.list]
reasoningTokens: 2000
maxRetries: 2
---
You are kind.
"""
THOUGHTS = [
    {"type": "thinking", "thinking": "I must look. Grüße", "signature": "c2lnbmVk+/=="},
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
]
USE = {"type": "tool_use", "id": "toolu_1", "name": "files__list", "input": {}}
CALLS = answered({"content": [*THOUGHTS, USE], "stop_reason": "tool_use"})
DONE = answered({"content": [THOUGHTS[0], {"type": "text", "text": "A parcel."}], "stop_reason": "end_turn"})


class Project:
    def __init__(self, folder, provider):
        self.folder = folder
        self.provider = provider
        (folder / "folkmoot.yaml").write_text(SETTINGS.format(port=provider.port))
        (folder / "desk.ai").write_text(AGENT)
        (folder / "photo.png").write_bytes(PNG)

    async def start(self, *arguments):
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *PROGRAM, *arguments, cwd=self.folder, env=dict(os.environ), stdout=pipe, stderr=pipe
        )

    async def done(self, *arguments):
        process = await self.start(*arguments)
        out, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, err.decode()
        return out.decode()


@pytest.fixture
async def project(tmp_path):
    async with FakeProvider() as provider:
        yield Project(tmp_path, provider)


async def test_after_a_kill_the_model_gets_byte_for_byte_what_it_would_have_got(project):
    """Issue 8: thoughts with their seals, and what was attached, are recorded and come back."""
    provider = project.provider
    provider.plays = [CALLS, [Do.HANG], DONE]
    process = await project.start("run", "desk.ai", "What is it?", "--attach", "photo.png", "--quiet")
    for _ in range(2):
        await asyncio.wait_for(provider.arrivals.get(), 60)
    process.kill()
    await process.communicate()

    report = await project.done("runs", "resume", "last", "--quiet")

    first, cut_off, again = provider.asked
    assert again.raw == cut_off.raw
    assert again.body["messages"][1] == {"role": "assistant", "content": [*THOUGHTS, USE]}
    assert again.body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert not {"temperature", "top_p", "top_k"} & again.body.keys()
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
    for asked in (first, again):
        assert asked.body["messages"][0]["content"][1] == {"type": "image", "source": source}
    assert report == "A parcel.\n"
    shown = json.loads(await project.done("runs", "show", "last", "--json"))
    assert shown["finalReport"]["content"] == "A parcel."


async def test_another_model_is_not_sent_what_it_could_not_read(project):
    """A seal is good for the model that set it; so the other one goes on without thinking."""
    provider = project.provider
    provider.plays = [CALLS, answered({"error": {"type": "overloaded_error"}}, 400), DONE]

    assert await project.done("run", "desk.ai", "What is it?", "--quiet") == "A parcel.\n"

    _, refused, other = (asked.body for asked in provider.asked)
    assert refused["messages"][1]["content"] == [*THOUGHTS, USE]
    assert (other["model"], other["messages"][1]["content"]) == ("claude-haiku-4-5", [USE])
    assert "thinking" not in other
