"""What happens when things go wrong: `./dev chaos [SCENE…]`, all by default.

Each scene prints its figures; the exit code is 1 if any of them found a fault. `--seed` repeats a run, `--short` is the
form that the tests use, `--planted` plants a fault that its scene must find.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from chaos import strace, zombies
from chaos.crowd import crowd
from chaos.faults import suffer_faults
from chaos.http import RATE, Part, serve_many
from chaos.kills import kill_at_random
from chaos.load import load
from chaos.power import cut_power
from chaos.workers import Tally, crash_servers, disturb_workers
from chaos.writes import kill_at_writes

P99_MS, MEGABYTES = 50.0, 400.0
ANSWER_MS, HEALTH_MS = 500.0, 200.0
SHOWN = 20


class Found(NamedTuple):
    figures: str
    faults: Sequence[str]


class Scene(NamedTuple):
    about: str
    play: Callable[[int, int], Found]
    """With how many, and the seed."""
    most: int
    short: int
    traces: bool = False
    """Needs strace."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev chaos", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"{', '.join(SCENES)}; all by default")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="drawn anew by default")
    parser.add_argument("--short", action="store_true", help="the form that the tests use")
    parser.add_argument("--count", type=int, help="how many kills, images, faults of a kind or runs")
    parser.add_argument("--planted", choices=sorted(PLANTED), help="a fault for its scene to find")
    options = parser.parse_args(arguments)
    if unknown := {*options.scenes} - {*SCENES}:
        parser.error(f"there is no scene {', '.join(sorted(unknown))}: choose from {', '.join(SCENES)}")

    scenes = {name: SCENES[name] for name in options.scenes or SCENES}
    if options.planted:
        name, play = PLANTED[options.planted]
        scenes = {name: SCENES[name]._replace(play=partial(play, planted=options.planted))}
    if any(scene.traces for scene in scenes.values()) and not strace.installed():
        print("dev: needs strace, a program of the system: apt-get install strace", file=sys.stderr)
        return 3
    print(f"seed {options.seed}")
    return max(_play(name, scene, options) for name, scene in scenes.items())


def _play(name: str, scene: Scene, options: argparse.Namespace) -> int:
    began = time.monotonic()
    count = options.count or (scene.short if options.short else scene.most)
    figures, faults = scene.play(count, options.seed)
    print(
        f"{name:8} {scene.about}: {figures}; {len(faults)} faults; {time.monotonic() - began:.0f} s",
        flush=True,
    )
    for fault in faults[:SHOWN]:
        print(f"  {fault}")
    return 1 if faults else 0


def _kills(count: int, seed: int) -> Found:
    tally = kill_at_random(count, seed)
    figures = (
        f"{tally.kills} kills in {tally.batches} batches, {tally.promises} acknowledged entries all there,"
        f" {tally.deliveries} deliveries, {tally.repeated_keyed} of them repeated under the same key,"
        f" {tally.in_doubt} calls put before a person,"
        f" {tally.stopped} runs stopped"
    )
    return Found(figures, tally.faults)


def _writes(count: int, seed: int) -> Found:
    tally = kill_at_writes(count, seed)
    kinds = ", ".join(f"{call} {times}" for call, times in tally.kills.items())
    return Found(f"{sum(tally.kills.values())} kills ({kinds})", tally.faults)


def _power(count: int, seed: int, planted: str = "") -> Found:
    tally = cut_power(count, seed, planted)
    figures = (
        f"{tally.images} images of {tally.points} moments, {tally.promises} acknowledged entries looked for,"
        f" {tally.continued} images continued to the end, {tally.damaged} with faults"
    )
    return Found(figures, tally.faults)


def _faults(count: int, seed: int) -> Found:
    tally = suffer_faults(count, seed)
    kinds = ", ".join(f"{name} {times}" for name, times in tally.injected.items())
    said = "".join(f"\n        said: {error}" for error in sorted(tally.errors))
    return Found(f"{sum(tally.injected.values())} met ({kinds}){said}\n       ", tally.faults)


def _load(count: int, seed: int) -> Found:
    got = load(count)
    figures = (
        f"{got.at_once} at once, {got.seconds:.1f} s, {got.appends} acknowledgements, median {got.median_ms:.1f} ms,"
        f" p99 {got.p99_ms:.1f} ms, {got.megabytes:.0f} MB"
    )
    missed = [f"p99 {got.p99_ms:.1f} ms, the aim is under {P99_MS:.0f}"] if got.p99_ms >= P99_MS else []
    if got.megabytes >= MEGABYTES:
        missed.append(f"{got.megabytes:.0f} MB, the aim is under {MEGABYTES:.0f}")
    return Found(figures, missed)


def _http(count: int, seed: int) -> Found:
    got = serve_many(count)
    figures = (
        f"{count} runs, {RATE} in a second: {_answers(got.spread)}; at once: {_answers(got.burst)}; on top of"
        f" {got.past}, all in {got.seconds:.1f} s"
    )
    missed = [*got.faults]
    if got.spread.p99 > ANSWER_MS:
        missed.append(f"p99 {got.spread.p99:.0f} ms, the aim is at most {ANSWER_MS:.0f}")
    if got.spread.health > HEALTH_MS:
        missed.append(f"/api/health took {got.spread.health:.0f} ms, the aim is at most {HEALTH_MS:.0f}")
    return Found(figures, missed)


def _answers(part: Part) -> str:
    return (
        f"median {part.median:.1f} ms, p99 {part.p99:.1f} ms ({part.client_p99:.0f} ms with queueing),"
        f" health at most {part.health:.0f} ms"
    )


def _workers(count: int, seed: int) -> Found:
    tally = disturb_workers(count, seed)
    kills, stops, handovers, _ = tally.done.values()
    counted = f"{kills} killed, {stops} stopped for longer than their lease, {handovers} sent home"
    return Found(f"{counted}, {_shared(tally)}", tally.faults)


def _postgres(count: int, seed: int) -> Found:
    tally = crash_servers(count, seed)
    return Found(f"{tally.done['crashes']} crashes, {_shared(tally)}", tally.faults)


def _shared(tally: Tally) -> str:
    return (
        f"{tally.runs} runs ended once, {tally.promises} acknowledged entries all there, {tally.repeated_keyed} calls"
        f" repeated under the same key, {tally.in_doubt} put before a person"
    )


def _zombies(count: int, seed: int, planted: str = "") -> Found:
    return _undead(zombies.wake_zombies(count, seed, planted))


def _swallow(count: int, seed: int, planted: str = "") -> Found:
    return _undead(zombies.swallow_answers(count, seed, planted))


def _undead(tally: zombies.Tally) -> Found:
    kinds = ", ".join(f"{how} {times}" for how, times in sorted(tally.disturbed.items()))
    return Found(f"{tally.rounds} rounds ({kinds}), {tally.retried} calls made again", tally.faults)


def _crowd(count: int, seed: int) -> Found:
    got = crowd(count)
    figures = (
        f"{count} runs, {got.steps} steps in {got.seconds:.1f} s, CPU per step: worker {got.worker_ms:.2f} ms,"
        f" server {got.server_ms:.2f} ms"
    )
    return Found(figures, [f"{got.failed} runs did not complete"] if got.failed else [])


SCENES = {
    "kills": Scene("kill -9 at random over all patterns", _kills, 1_000, 60),
    "writes": Scene("kill -9 at each system call that writes", _writes, 1_000, 12, traces=True),
    "power": Scene("power cuts", _power, 2_000, 100, traces=True),
    "faults": Scene("faults of the disk and its neighbours", _faults, 10, 1, traces=True),
    "load": Scene("many runs at once", _load, 1_000, 100),
    "http": Scene("many runs over HTTP, spread and at once", _http, 1_000, 50),
    "workers": Scene("workers killed, stopped, sent home", _workers, 200, 10),
    "postgres": Scene("the server killed under load", _postgres, 20, 2),
    "zombies": Scene("workers stopped amid a call that go on later", _zombies, 50, 2),
    "swallow": Scene("the answer to a commit swallowed", _swallow, 50, 1),
    "crowd": Scene("many runs at once in one worker", _crowd, 200, 20),
}
PLANTED: dict[str, tuple[str, Callable[..., Found]]] = {
    **dict.fromkeys(("normal", "artifact", "intent"), ("power", _power)),
    **dict.fromkeys(("check", "renewal"), ("zombies", _zombies)),
    "lookup": ("swallow", _swallow),
}
"""Faults that must be found, each with the scene that does."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
