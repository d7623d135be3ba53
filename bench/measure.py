"""How a scene is measured: bare and Folkmoot rounds in turn, in one process, and the medians of them."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from bench import scenes

Run = Callable[[], Awaitable[str]]


class Round(NamedTuple):
    cpu: float
    """CPU seconds of this process, all threads, per run."""
    wall: float
    growth: float
    """Cost of the last quarter of the tool turns over that of the first; means something in S6 only."""


class Side(NamedTuple):
    """The medians of one side over all rounds."""

    cpu: float
    wall: float
    growth: float


async def compare(bare: Run, folkmoot: Run, runs: int, rounds: int) -> tuple[Side, Side]:
    """Rounds alternate, so that a machine that slows down slows both."""
    results: tuple[list[Round], list[Round]] = ([], [])
    for _ in range(rounds):
        for side, run in zip(results, (bare, folkmoot), strict=True):
            side.append(await one_round(run, runs))
    return median_of(results[0]), median_of(results[1])


async def one_round(run: Run, runs: int) -> Round:
    gc.collect()  # the other side's garbage is not this side's cost
    scenes.moments.clear()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(runs):
        await run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Round(cpu / runs, wall / runs, growth(scenes.moments))


def growth(moments: list[float]) -> float:
    if len(moments) != scenes.LONG_TURNS:
        return 0.0
    quarter = len(moments) // 4
    return (moments[-1] - moments[-quarter]) / (moments[quarter - 1] - moments[0])


def median_of(rounds: list[Round]) -> Side:
    return Side(*(statistics.median(values) for values in zip(*rounds, strict=True)))
