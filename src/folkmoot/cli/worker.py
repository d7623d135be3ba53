"""`folkmoot worker`: goes on with the runs of a shared installation, until it is told to stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import Call, call_of
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.engine.activation import Shift

_LABEL = re.compile(r"[A-Za-z0-9._-]{1,36}")


def worker(
    context: typer.Context,
    concurrency: Annotated[int, typer.Option(min=1, help="Runs at once.")] = 10,
    label: Annotated[
        str,
        typer.Option(help="Of the place where working folders are; absent: the name of this host."),
    ] = "",
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long calls under way may take when it is told to stop.")
    ] = "10s",
    lease: Annotated[
        str,
        typer.Option(metavar="TIME", help="After so long without a sign of life others take its runs over."),
    ] = "30s",
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Forget all jobs first; they are made anew from the journal.")
    ] = False,
) -> None:
    """Go on with the runs of a project that keeps its journal in PostgreSQL.

    Start as many as you like, on any host that has the project's folder. A worker takes the runs that were left to the
    workers with `run --queue`, those that were answered, and those whose process has died. Told to stop (Ctrl-C,
    SIGTERM), it lets calls under way end and leaves its runs to the others; told twice, it does so at once. A run that
    used a working folder (`orchestration.sub_agent_work_dir`) goes on only with workers of the same label.

    \b
    Examples:
      folkmoot worker
      folkmoot worker --concurrency 50 --label gpu-host --grace 60s
    """
    import asyncio

    from folkmoot.engine.activation import Placement, Shift
    from folkmoot.engine.owner import this_host

    if label and not _LABEL.fullmatch(label):
        raise WrongUse(f"--label takes A-Z a-z 0-9 . _ -, at most 36, not {label!r}")
    place = Placement(label or this_host(), _time("--lease", lease))
    if place.lease < 1:
        raise WrongUse("--lease must be a second or more")
    asyncio.run(_work(call_of(context), Shift(place, concurrency, _time("--grace", grace), rebuild)))


async def _work(call: Call, shift: Shift) -> None:
    import os

    from folkmoot.app import Folkmoot
    from folkmoot.cli.interrupt import on_stop_signals
    from folkmoot.cli.output import say
    from folkmoot.engine.workshop import Surroundings

    around = Surroundings(place=shift.place)
    async with Folkmoot.open(call.folder, overrides=call.overrides, around=around) as moot:
        worker = moot.worker(shift)
        worker.say = lambda text: say(f"worker {os.getpid()}: {text}")
        on_stop_signals(worker.stop)
        await worker.work()
        worker.say("stopped")


def _time(option: str, written: str) -> float:
    from folkmoot.domain.duration import seconds

    time = seconds(written)
    if time is None:
        raise WrongUse(f"{option} takes a time such as 10s or 1m, not {written!r}")
    return time
