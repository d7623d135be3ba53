"""The Folkmoot side: the same scenes as agent files, run through the public API with a journal on disk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import scenes
from chaos.project import allow
from folkmoot import Folkmoot, tool

SETTINGS = """\
providers:
  bench: {{kind: openai, baseUrl: "http://127.0.0.1:{port}/v1", price: free, contextWindow: 10000000}}
"""

SWITCHED_ON = "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
CALLING, SLOW = "calling", "slow"
"""Projects with agents that call others; in the second each of two takes a second."""


@tool(effect="pure", access="read")
async def look(what: str) -> str:
    """Look something up in the shop's books."""
    return scenes.look_up(what)


def write_project(folder: Path, port: int) -> None:
    """One agent file per part of a scene."""
    (allow(folder) / "folkmoot.yaml").write_text(SETTINGS.format(port=port))
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
    _write_agents(folder, agents)
    for name, model, helper in (
        (CALLING, f"call-{scenes.HELPERS}:helper", "final"),
        (SLOW, "call-2:helper", "final@1000"),
    ):
        (folder / name).mkdir()
        (folder / name / "folkmoot.yaml").write_text(SETTINGS.format(port=port) + SWITCHED_ON)
        allow(folder / name)
        _write_agents(
            folder / name, {"caller.ai": f"models: bench/{model}", "helper.ai": f"models: bench/{helper}"}
        )


def project_of(scene: str, folder: Path) -> Path:
    """Where agents may call any other, all have the tools for it; so that scene has a project of its own."""
    return folder / CALLING if scene == "S8" else folder


def _write_agents(folder: Path, agents: dict[str, str]) -> None:
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
    "S8": lambda moot: answer(moot, "caller.ai"),
}
