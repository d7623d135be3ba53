"""What Folkmoot costs on top of a bare loop: `./dev bench [S1 … S11, MCP, DOOR]`, `--json FILE` for programs."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench import bare, echo, gate, looking, lookups, moot, startup
from bench.measure import Run, Side, compare
from bench.process import Traffic, model_server, traffic
from bench.scenes import CROWD, HELPERS
from folkmoot import Folkmoot


class Scene(NamedTuple):
    about: str
    target: float
    runs: int
    """Per round."""
    rounds: int


SCENES = {
    "S1": Scene("one agent, one tool, two requests", 3.0, runs=20, rounds=41),
    "S2": Scene("eight advisors in parallel and the answer", 3.0, runs=5, rounds=41),
    "S3": Scene("a chain of three", 3.0, runs=10, rounds=41),
    "S4": Scene("a router of three", 3.0, runs=15, rounds=41),
    "S5": Scene("200 × S1 at once, 50 ms latency", 0.4, runs=1, rounds=9),
    "S6": Scene("one conversation of 200 tool turns", 2.2, runs=1, rounds=9),
    "S8": Scene("eight sub-agents in one turn", 3.0, runs=5, rounds=41),
}
MCP = Scene("a call of a tool server, against the SDK's client", 1.3, runs=50, rounds=41)
DOOR = Scene("POST /v1/chat/completions, against both", 2.0, runs=20, rounds=21)
STREAMED = 2.5
"""The target of the same as a stream, which also tells what happens."""
KEPT_ALIVE = 6
"""Milliseconds that a client may wait for an answer on a connection that is open already."""
STARTUP = {"folkmoot --help": 0.4, "import folkmoot": 0.2, "from folkmoot import Folkmoot": 0.2}


class Row(NamedTuple):
    scene: str
    about: str
    bare: float
    folkmoot: float
    unit: str
    ratio: float
    target: str
    ok: bool
    sent: str = ""
    """Kilobytes of requests per run, on either side."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="S1 … S11, MCP, DOOR; all by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    options = parser.parse_args(arguments)
    unknown = set(options.scenes) - {*SCENES, *OTHERS}
    if unknown:
        parser.error(f"there is no scene {', '.join(sorted(unknown))}: choose from S1 … S11, MCP and DOOR")

    rows = []
    print(f"{'':5}{'':44}{'bare':>10}{'Folkmoot':>10}{'':8}{'ratio':>7}  target")
    for row in measured(options.scenes or [*SCENES, *OTHERS]):
        print(line(row), flush=True)
        rows.append(row._asdict())
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def line(row: Row) -> str:
    bare = f"{row.bare:10.2f}" if row.bare else " " * 10
    ratio = f"{row.ratio:7.2f}" if row.ratio else " " * 7
    verdict = "ok" if row.ok else "MISSED"
    values = f"{bare}{row.folkmoot:10.2f} {row.unit:7}{ratio}  {row.target:8}{verdict:8}{row.sent}"
    return f"{row.scene:5}{row.about:44}{values}".rstrip()


def measured(names: list[str]) -> Iterator[Row]:
    with model_server() as port, tempfile.TemporaryDirectory(prefix="folkmoot-bench-") as folder:
        moot.write_project(Path(folder), port)
        for name in names:
            if other := OTHERS.get(name):
                yield from other(Path(folder))
                continue
            yield from asyncio.run(scene_rows(name, port, Path(folder)))
            if name == "S8":
                yield asyncio.run(speed_up(Path(folder) / moot.SLOW))
                yield asyncio.run(echoes(Path(folder) / "echo"))


async def scene_rows(name: str, port: int, folder: Path) -> list[Row]:
    project = moot.project_of(name, folder)
    async with bare.Bare(port) as loop, Folkmoot.open(project, tools=[moot.look]) as house:
        sides = (lambda: bare.RUNS[name](loop), lambda: moot.RUNS[name](house))
        sent = [await sent_by(side, port) for side in sides]  # also warms both up
        if sent[0].requests != sent[1].requests:
            raise SystemExit(
                f"{name} is not the same work: {sent[0]} by the bare loop, {sent[1]} by Folkmoot"
            )
        results = await compare(*sides, SCENES[name].runs, SCENES[name].rounds)
    note = f"{sent[0].bytes / 1000:.1f} / {sent[1].bytes / 1000:.1f} kB sent"
    return [row._replace(sent=note) for row in rows_of(name, *results)]


def server_rows(folder: Path) -> Iterator[Row]:
    from bench import tool_server  # the SDK takes a second to import

    bare, folkmoot = asyncio.run(tool_server.compared(folder, MCP.runs, MCP.rounds))
    ratio, milliseconds = folkmoot.cpu / bare.cpu, (bare.cpu * 1000, folkmoot.cpu * 1000)
    yield Row("MCP", MCP.about, *milliseconds, "ms CPU", ratio, f"≤ {MCP.target}", ratio <= MCP.target)


async def speed_up(project: Path) -> Row:
    """Two sub-agents that take a second each, against one after the other."""
    async with Folkmoot.open(project) as house:
        await moot.RUNS["S8"](house)  # warms up
        began = time.perf_counter()
        await moot.RUNS["S8"](house)
        took = time.perf_counter() - began
    return Row("S8", "  two of a second each: speed-up", 0, 2 / took, "times", 0, "≥ 1.8", 2 / took >= 1.8)


async def echoes(project: Path) -> Row:
    found = await echo.leaks(project)
    about = f"  {echo.CHILDREN} that echo a token: leaks"
    return Row("S8", about, 0, found, "tokens", 0, "0", found == 0)


async def sent_by(run: Run, port: int) -> Traffic:
    before = traffic(port)
    await run()
    after = traffic(port)
    return Traffic(after.requests - before.requests, after.bytes - before.bytes)


def rows_of(name: str, bare: Side, folkmoot: Side) -> Iterator[Row]:
    about, target = SCENES[name].about, SCENES[name].target
    if name == "S5":
        slow, fast = (CROWD / side.wall for side in (folkmoot, bare))
        yield Row(name, about, fast, slow, "runs/s", slow / fast, f"≥ {target}", slow / fast >= target)
        return
    ratio = folkmoot.cpu / bare.cpu
    milliseconds = (bare.cpu * 1000, folkmoot.cpu * 1000)
    yield Row(name, about, *milliseconds, "ms CPU", ratio, f"≤ {target}", ratio <= target)
    if name == "S8":
        each = folkmoot.cpu * 1000 / HELPERS
        yield Row(name, "  each of them, from call to result", 0, each, "ms CPU", 0, "< 20", each < 20)
    if name == "S6":
        grows, ratio = "  last 50 turns over the first 50", folkmoot.growth / bare.growth
        yield Row(name, grows, bare.growth, folkmoot.growth, "times", ratio, "≤ 1.0", ratio <= 1.0)


def startup_rows(_: Path) -> Iterator[Row]:
    for name, target in STARTUP.items():
        spent = startup.seconds(startup.COMMANDS[name])
        yield Row("S7", name, 0, spent, "s CPU", 0, f"< {target}", spent < target)


def gate_rows(_: Path) -> Iterator[Row]:
    spent = gate.milliseconds()
    yield Row("S9", "the gate, per tool call without a word", 0, spent, "ms CPU", 0, "< 0.15", spent < 0.15)


def looking_rows(folder: Path) -> Iterator[Row]:
    first, *looks = looking.milliseconds(folder).items()
    yield Row("S10", f"{looking.EVENTS:,} events: {first[0]}", 0, first[1], "ms", 0, "", ok=True)
    for name, took in looks:
        yield Row("S10", f"  by {name}", 0, took, "ms", 0, "< 100", took < 100)


def lookup_rows(folder: Path) -> Iterator[Row]:
    """The cost at many events against the cost at few."""
    for about, (few, many) in lookups.milliseconds(folder).items():
        told = f"{about}, at {lookups.SIZES[1]:,} events against {lookups.SIZES[0]:,}"
        yield Row("S12", told, few, many, "ms CPU", many / few, "≤ 2.0", many <= 2 * few)


def crowd_rows(folder: Path) -> Iterator[Row]:
    from bench import crowd  # the server takes its time to import

    seen = crowd.measured(folder)
    about = f"{crowd.RUNS:,} runs, {seen.rate:.0f} events/s, {crowd.FOLLOWED + 1} SSE clients: p99"
    yield Row("S11", about, 0, seen.p99, "ms", 0, "< 250", seen.p99 < 250 and seen.rate > 0.98 * crowd.RATE)
    yield Row("S11", "  half of them, from append to client", 0, seen.p50, "ms", 0, "", ok=True)
    yield Row("S11", "  the disk's part of it: p99", 0, seen.durable, "ms", 0, "", ok=True)
    yield Row(
        "S11", "  clients that an event missed, or met twice", 0, seen.faults, "", 0, "0", seen.faults == 0
    )


def door_rows(folder: Path) -> Iterator[Row]:
    from bench import door  # the server takes its time to import

    sides = asyncio.run(door.compared(folder, DOOR.runs, DOOR.rounds))
    for about, side in (
        ("a bare route of Starlette and uvicorn", sides.route),
        ("a run in process", sides.run),
    ):
        yield Row("DOOR", about, 0, side.cpu * 1000, "ms CPU", 0, "", ok=True)
    for about, side, target in (
        (DOOR.about, sides.door, DOOR.target),
        ("  streamed", sides.stream, STREAMED),
    ):
        for unit, each in (("ms CPU", "cpu"), ("ms", "wall")):
            plain, took = getattr(sides.route, each) + getattr(sides.run, each), getattr(side, each)
            ratio, milliseconds = took / plain, (plain * 1000, took * 1000)
            yield Row("DOOR", about, *milliseconds, unit, ratio, f"≤ {target}", ratio <= target)
    waited = sides.door.wall * 1000
    about = "  answered on a kept-alive connection"
    yield Row("DOOR", about, 0, waited, "ms", 0, f"≤ {KEPT_ALIVE}", waited <= KEPT_ALIVE)


OTHERS = {
    "S7": startup_rows,
    "S9": gate_rows,
    "S10": looking_rows,
    "S11": crowd_rows,
    "S12": lookup_rows,
    "MCP": server_rows,
    "DOOR": door_rows,
}
"""What is not compared with a bare loop."""


if __name__ == "__main__":
    main(sys.argv[1:])
