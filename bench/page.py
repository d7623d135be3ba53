"""How a run of 5,000 steps opens and scrolls in Chromium: `python -m bench.page` prints the figures."""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Page, async_playwright

from folkmoot.app import Folkmoot
from folkmoot.domain.duration import later
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    LlmRequest,
    LlmResponse,
    RunCompleted,
    RunStarted,
    SessionCompleted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.domain.report import Outcome, Report
from folkmoot.engine.local import encode_graph
from folkmoot.http.server import run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.ports import NewRun

STEPS = 5_000
RUN = "a-long-run"
CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
_BEGAN = "2026-03-01T12:00:00.000Z"
_FRAMES = """() => new Promise((done) => {
  const pane = document.querySelector(".left .scroll"), frames = [];
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last); last = now;
    const unread = document.querySelector(".ops.unread");
    const end = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1;
    if ((end && !unread) || frames.length > 5000) return done(frames);
    if (!unread || unread.getBoundingClientRect().top > pane.getBoundingClientRect().bottom) pane.scrollTop += 900;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def long_run(steps: int, graph: str = "") -> Iterator[Draft]:
    """A run of so many steps: agents that are called one after the other, each with turns and tools, some failing."""
    moment = 0.0

    def draft(event: Event, span: str = "0", agent: str = "boss") -> Draft:
        nonlocal moment
        moment += 0.05
        session = RUN if span == "0" else f"{RUN}:{span}"
        return Draft(later(_BEGAN, moment), event, session, span, agent, "ws_long")

    def outcome(agent: str) -> Outcome:
        return Outcome(agent, "0", report=Report(content="done"))

    yield draft(RunStarted("boss.ai", "[Goal] check all orders", graph, "seed"))
    yield draft(SessionStarted("boss.ai", "check all orders"))
    for child in range(1, steps // 100 + 1):
        span, agent = f"0/turn:1/call:{child}", f"clerk-{child}"
        yield draft(SessionStarted("clerk.ai", f"orders {child}", RUN, "sub"), span, agent)
        for turn in range(1, 50):
            for event in _turn(turn, child):
                yield draft(event, span, agent)
        yield draft(SessionCompleted(outcome(agent)), span, agent)
    yield draft(SessionCompleted(outcome("boss")))
    yield draft(RunCompleted(outcome("boss")))


def _turn(turn: int, child: int) -> Iterator[Event]:
    call = ToolCall(f"c{turn}", "orders__find", {"order": f"{child}-{turn}"})
    yield LlmRequest(turn, 1, "scripted/any", 500, 1_000, 0.01)
    said = Message(role="assistant", text="I look it up.", calls=(call,))
    yield LlmResponse(turn, 1, "scripted/any", said, Usage(900, 40), 0.001, "tool_use", 50)
    key = f"{RUN}/{child}/{turn}"
    yield ToolStarted(turn, 1, call.tool, call.arguments, "pure", "read", key, "allowed")
    if turn % 25 == 0:
        yield ToolFailed(turn, 1, call.tool, "(tool failed: the order book did not answer)")
    else:
        yield ToolFinished(turn, 1, call.tool, f"order {turn}: paid", f"ev_{child:04x}{turn:04x}")


async def write(moot: Folkmoot, steps: int) -> None:
    graph = moot.moot.journal.keep(encode_graph(moot.graph))
    drafts = list(long_run(steps, graph))
    await moot.moot.journal.append(RUN, NewRun("bench", 0.0), drafts)


async def measured(folder: Path) -> dict[str, float]:
    (folder / "boss.ai").write_text("---\ndescription: Has others check.\n---\nYou are the boss.\n")
    (folder / "clerk.ai").write_text("---\ndescription: Checks.\n---\nYou check orders.\n")
    (folder / "script.yaml").write_text("{}")
    (folder / "folkmoot.yaml").write_text(
        "providers: {scripted: {kind: scripted, script: script.yaml}}\nmodels: {default: scripted/any}\n"
    )
    async with Folkmoot.open(folder) as moot:
        await write(moot, STEPS)
        async with run_server(ServerState(moot=moot, door=ServerOptions(port=0))) as address:
            return await _browsed(f"{address}runs/{RUN}")


async def _browsed(url: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        for name in ("first", "again"):
            began, used = time.perf_counter(), time.process_time()
            answer = await page.goto(url, wait_until="load")
            figures[f"open, {name} (ms)"] = (time.perf_counter() - began) * 1000
            figures[f"CPU of the server, {name} (ms)"] = (time.process_time() - used) * 1000
        assert answer is not None
        figures["first answer (KB)"] = len(await answer.body()) / 1000
        figures["rows in it"] = await page.locator(".op").count()
        figures |= await _scrolled(page)
        await browser.close()
    return figures


async def _scrolled(page: Page) -> dict[str, float]:
    browser = page.context.browser
    assert browser is not None
    await browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel"])
    frames: list[float] = await page.evaluate(_FRAMES)
    await page.evaluate("() => { document.querySelector('.left .scroll').scrollTop = 0 }")
    again: list[float] = await page.evaluate(_FRAMES)
    trace = await browser.stop_tracing()
    return {
        "frames while paging": len(frames),
        "frame, median (ms)": median(frames),
        "frame, longest (ms)": max(frames),
        "task, longest, its CPU (ms)": _longest_task(json.loads(trace)["traceEvents"]),
        "rows at the end": await page.locator(".op").count(),
        "frame, longest, all rows there (ms)": max(again),
    }


def _longest_task(events: list[dict[str, Any]]) -> float:
    """Of the thread that draws: by its CPU, which other work on the machine does not lengthen."""
    drawing = {e["tid"] for e in events if e.get("args", {}).get("name") == "CrRendererMain"}
    took: list[int] = [e.get("tdur", 0) for e in events if e["tid"] in drawing and "RunTask" in e["name"]]
    return max(took) / 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, value in asyncio.run(measured(Path(folder))).items():
            print(f"{name:40}{value:10.1f}")


if __name__ == "__main__":
    main()
