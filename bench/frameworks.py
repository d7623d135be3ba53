"""What one run costs in Folkmoot and in other frameworks: `python -m bench.frameworks [NAME ...]`.

One agent, one tool, two requests to a chat-completions server on loopback that answers at once. Each framework runs in
a process of its own: start-up is from the start of Python to the end of the first run, the rest is per run after a
warm-up. The others are used as their documentation shows it; Folkmoot writes every step to a journal on disk (fsync).
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench import scenes
from bench.process import ROOT, model_server

RUNS = int(os.environ.get("FOLKMOOT_BENCH_RUNS", "100"))
MODEL = "plain-1"

Answer = Callable[[], Awaitable[str]]
Report = Callable[[Answer], Awaitable[None]]


async def folkmoot(port: int, report: Report) -> None:
    from bench.moot import look, write_project
    from folkmoot import Folkmoot

    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder), port)
        (Path(folder) / "one-tool.ai").write_text(
            f"---\nmodels: bench/{MODEL}\ntools: [look]\n---\n{scenes.PROMPT}\n"
        )
        async with Folkmoot.open(folder, tools=[look]) as moot:

            async def answer() -> str:
                result = await moot.run("one-tool.ai", scenes.QUESTION)
                return result.final_report.content if result.final_report else ""

            await report(answer)


async def openai_agents(port: int, report: Report) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")

    @function_tool
    def look(what: str) -> str:
        """Look something up in the shop's books."""
        return scenes.look_up(what)

    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    clerk = Agent(name="clerk", instructions=scenes.PROMPT, tools=[look], model=model)

    async def answer() -> str:
        return str((await Runner.run(clerk, scenes.QUESTION)).final_output)

    await report(answer)


async def pydantic_ai(port: int, report: Report) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    clerk = Agent(OpenAIChatModel(MODEL, provider=provider), instructions=scenes.PROMPT)

    @clerk.tool_plain
    def look(what: str) -> str:
        """Look something up in the shop's books."""
        return scenes.look_up(what)

    async def answer() -> str:
        return str((await clerk.run(scenes.QUESTION)).output)

    await report(answer)


async def langgraph(port: int, report: Report) -> None:
    from operator import add
    from typing import Annotated, TypedDict

    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from openai import AsyncOpenAI

    from bench.bare import LOOK

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")

    class State(TypedDict):
        messages: Annotated[list[Any], add]

    async def model(state: State) -> State:
        said = await client.chat.completions.create(model=MODEL, messages=state["messages"], tools=[LOOK])  # type: ignore[list-item]
        return {"messages": [said.choices[0].message.model_dump(exclude_none=True)]}

    async def tools(state: State) -> State:
        results = [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": scenes.look_up(**json.loads(call["function"]["arguments"])),
            }
            for call in state["messages"][-1]["tool_calls"]
        ]
        return {"messages": results}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].get("tool_calls") else END
    )
    graph.add_edge("tools", "model")
    app = graph.compile(checkpointer=InMemorySaver())
    threads = iter(range(10_000))

    async def answer() -> str:
        asked = [{"role": "system", "content": scenes.PROMPT}, {"role": "user", "content": scenes.QUESTION}]
        thread: Any = {"configurable": {"thread_id": str(next(threads))}}
        return str((await app.ainvoke({"messages": asked}, thread))["messages"][-1]["content"])

    await report(answer)


FRAMEWORKS = {
    "Folkmoot": folkmoot,
    "LangGraph": langgraph,
    "OpenAI Agents SDK": openai_agents,
    "Pydantic AI": pydantic_ai,
}


async def measure(name: str, port: int, born: float) -> None:
    """In a process of its own: print one line of JSON."""

    async def report(answer: Answer) -> None:
        if not (await answer()).startswith("Thank you"):
            raise RuntimeError(f"{name} gave another answer")
        start_up = time.time() - born
        for _ in range(10):
            await answer()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(RUNS):
            await answer()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures = {"start": start_up, "cpu": cpu / RUNS * 1000, "wall": wall / RUNS * 1000, "memory": memory}
        print(json.dumps(figures), flush=True)

    await FRAMEWORKS[name](port, report)


def main(names: list[str]) -> None:
    print(f"{'':20}{'start-up':>10}{'CPU/run':>10}{'wall/run':>10}{'memory':>10}")
    with model_server() as port:
        for name in names or FRAMEWORKS:
            command = [
                sys.executable,
                "-m",
                "bench.frameworks",
                "--measure",
                name,
                str(port),
                repr(time.time()),
            ]
            done = subprocess.run(
                command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True
            )
            row = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{name:20}{row['start']:8.2f} s{row['cpu']:7.2f} ms{row['wall']:7.2f} ms{row['memory']:7.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        asyncio.run(measure(sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
    else:
        main(sys.argv[1:])
