"""The bare loop: the same requests with aiohttp and the standard library's JSON, and nothing else.

No journal, no budget, no checks, no retries: what any runtime pays on top of this is its own cost.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from bench import scenes
from folkmoot.domain.agent import Agent
from folkmoot.orchestration.runtime_tools import mission_tools

MAX_TURNS = 300


def _tool(name: str, about: str, parameters: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": function}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT = {"type": "string"}
LOOK = _tool("look", scenes.LOOK_ABOUT, _object(["what"], what=TEXT))
_EVIDENCE = {"type": "array", "items": TEXT, "description": "Ids of tool results."}
_CLAIM = {"type": "object", "properties": {"text": TEXT, "evidence": _EVIDENCE}, "required": ["text"]}
REPORT = _tool(
    "agent__final_report",
    "Give your final answer as text. Call it once, when the work is done: it ends your session.",
    _object(
        ["report_format", "report_content"],
        report_format={"type": "string", "const": "text"},
        report_content={"type": "string", "minLength": 1},
        claims={"type": "array", "items": _CLAIM},
        metadata={"type": "object"},
    ),
)
_ABOUT_DESTINATIONS = "\n".join(f"- {name}: A part of the bench." for name in scenes.DESTINATIONS)
ROUTE = _tool(
    "router__handoff-to",
    f"Pass the request on to another agent, who then answers instead of you.\n{_ABOUT_DESTINATIONS}",
    _object(
        ["agent"],
        agent={"type": "string", "enum": list(scenes.DESTINATIONS)},
        message={"type": "string", "description": "What the agent should know beyond the request."},
    ),
)

_HELPER = Agent(id="helper", file="helper.ai", prompt="", description="A part of the bench.")


def _calling(**callable_agents: Agent) -> list[dict[str, Any]]:
    """The very tools that Folkmoot offers: only the texts come from there."""
    specs = mission_tools(callable_agents, approved=True)
    return [_tool(spec.name, spec.description, spec.parameters) for spec in specs]


CALLER_TOOLS, HELPER_TOOLS = _calling(helper=_HELPER), _calling()

encode = json.JSONEncoder(separators=(",", ":")).encode


class Bare:
    """One connection pool, as Folkmoot has one."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1/chat/completions"

    async def __aenter__(self) -> "Bare":
        self.http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()

    async def converse(self, model: str, question: str, *tools: dict[str, Any]) -> dict[str, Any]:
        """Ask until the model calls anything but the tool; returns that call's arguments."""
        messages = opening(question)
        for _ in range(MAX_TURNS):
            message = await self.ask({"model": model, "messages": messages, "tools": [*tools, REPORT]})
            messages.append(message)
            for call in message["tool_calls"]:
                arguments: dict[str, Any] = json.loads(call["function"]["arguments"])
                if call["function"]["name"] != "look":
                    return arguments
                found = scenes.look_up(**arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
        raise RuntimeError(f"{model} did not come to an end within {MAX_TURNS} turns")

    async def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        content = encode(body | {"max_tokens": 4096})
        headers = {"Content-Type": "application/json"}
        async with self.http.post(self.url, data=content, headers=headers) as response:
            answer = json.loads(await response.read())
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message


def opening(question: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": scenes.PROMPT}, {"role": "user", "content": question}]


def said(arguments: dict[str, Any]) -> str:
    return str(arguments["report_content"])


def enveloped(blocks: list[tuple[str, str]]) -> str:
    """The question with what others said, each in a block of its own."""
    every = [("original_user_request", scenes.QUESTION), *blocks]
    return "\n".join(f"<{tag}__0123456789ab>\n{text}\n</{tag}__0123456789ab>" for tag, text in every)


async def one_tool(bare: Bare) -> str:
    return said(await bare.converse("tool-1", scenes.QUESTION, LOOK))


async def advisors(bare: Bare) -> str:
    advice = await asyncio.gather(*(bare.converse("final", scenes.QUESTION) for _ in range(scenes.ADVISORS)))
    return said(await bare.converse("final", enveloped([("advisory", said(one)) for one in advice])))


async def chain(bare: Bare) -> str:
    blocks: list[tuple[str, str]] = []
    for _ in scenes.CHAIN:
        question = enveloped(blocks) if blocks else scenes.QUESTION
        blocks = [("response", said(await bare.converse("final", question)))]
    return blocks[0][1]


async def router(bare: Bare) -> str:
    choice = await bare.converse("route", scenes.QUESTION, ROUTE)
    assert choice["agent"] in scenes.DESTINATIONS
    return said(await bare.converse("final", enveloped([("advisory", choice["message"])])))


async def crowd(bare: Bare) -> str:
    model = f"tool-1@{scenes.CROWD_LATENCY_MS}"
    runs = (bare.converse(model, scenes.QUESTION, LOOK) for _ in range(scenes.CROWD))
    return said((await asyncio.gather(*runs))[-1])


async def long_talk(bare: Bare) -> str:
    return said(await bare.converse(f"tool-{scenes.LONG_TURNS}", scenes.QUESTION, LOOK))


async def sub_agents(bare: Bare) -> str:
    messages, tools = opening(scenes.QUESTION), [*CALLER_TOOLS, REPORT]
    body = {"model": f"call-{scenes.HELPERS}:helper", "messages": messages, "tools": tools}
    messages.append(wish := await bare.ask(body))
    missions = [json.loads(call["function"]["arguments"])["mission"] for call in wish["tool_calls"]]
    answers = await asyncio.gather(*(bare.converse("final", each, *HELPER_TOOLS) for each in missions))
    for call, answer in zip(wish["tool_calls"], answers, strict=True):
        result = encode({"success": True, "result": said(answer), "steps_taken": 1, "error": None})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    message = await bare.ask(body)
    return said(json.loads(message["tool_calls"][0]["function"]["arguments"]))


RUNS: dict[str, Callable[[Bare], Awaitable[str]]] = {
    "S1": one_tool, "S2": advisors, "S3": chain, "S4": router, "S5": crowd, "S6": long_talk,
    "S8": sub_agents,
}  # fmt: skip
