"""The Folkmoot side: the same scenes as agent files, run through the public API with a journal on disk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import scenes
from folkmoot import Folkmoot, tool

SETTINGS = """\
providers:
  bench: {{kind: openai, baseUrl: "http://127.0.0.1:{port}/v1", price: free, contextWindow: 10000000}}
"""


@tool(effect="pure", access="read")
async def look(what: str) -> str:
    """Look something up in the shop's books."""
    return scenes.look_up(what)


def write_project(folder: Path, port: int) -> None:
    """One agent file per part of a scene."""
    (folder / "folkmoot.yaml").write_text(SETTINGS.format(port=port))
    advisors = [f"advisor-{number}.ai" for number in range(1, scenes.ADVISORS + 1)]
    destinations = [f"{name}.ai" for name in scenes.DESTINATIONS]
    first, second, third = (f"{name}.ai" for name in scenes.CHAIN)
    turns = scenes.LONG_TURNS
    agents = {
        "one-tool.ai": "models: bench/tool-1\ntools: [look]",
        "crowd.ai": f"models: bench/tool-1@{scenes.CROWD_LATENCY_MS}\ntools: [look]",
        "long-talk.ai": f"models: bench/tool-{turns}\ntools: [look]\nmaxTurns: {turns + 2}",
        "advised.ai": f"models: bench/final\nadvisors: [{', '.join(advisors)}]",
        "router.ai": f"models: bench/route\nrouter: {{destinations: [{', '.join(destinations)}]}}",
        first: f"models: bench/final\nhandoff: {second}",
        second: f"models: bench/final\nhandoff: {third}",
        **dict.fromkeys([*advisors, *destinations, third], "models: bench/final"),
    }
    for name, keys in agents.items():
        text = f"---\ndescription: A part of the bench.\n{keys}\n---\n{scenes.PROMPT}\n"
        (folder / name).write_text(text)


async def answer(moot: Folkmoot, agent: str) -> str:
    result = await moot.run(agent, scenes.QUESTION)
    if not result.success or result.final_report is None:
        raise RuntimeError(f"{agent} failed: {result.error}")
    return result.final_report.content


async def crowd(moot: Folkmoot) -> str:
    return (await asyncio.gather(*(answer(moot, "crowd.ai") for _ in range(scenes.CROWD))))[-1]


RUNS: dict[str, Callable[[Folkmoot], Awaitable[str]]] = {
    "S1": lambda moot: answer(moot, "one-tool.ai"),
    "S2": lambda moot: answer(moot, "advised.ai"),
    "S3": lambda moot: answer(moot, f"{scenes.CHAIN[0]}.ai"),
    "S4": lambda moot: answer(moot, "router.ai"),
    "S5": crowd,
    "S6": lambda moot: answer(moot, "long-talk.ai"),
}
