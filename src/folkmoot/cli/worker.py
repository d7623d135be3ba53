"""`folkmoot worker` and `folkmoot watch`: go on with runs that wait for a worker, and see that no task falls asleep."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import redirect_stdout
from functools import partial
from typing import Annotated, TextIO

import typer

from folkmoot.app import Folkmoot
from folkmoot.cli.call import Call, call_of
from folkmoot.cli.interrupt import on_stop_signals, run_interruptibly
from folkmoot.cli.output import hide, in_one_line, say, write, write_json
from folkmoot.domain.duration import seconds, written
from folkmoot.engine.claims import Placement, Shift, this_host
from folkmoot.engine.watch import Done
from folkmoot.engine.workshop import Surroundings
from folkmoot.errors import WrongUse

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
    """Start as many as you like, on any host that has the project's folder. A worker takes the runs that were left
    to the workers with `run --queue`, those that were answered, and those whose process has died. Told to stop
    (Ctrl-C, SIGTERM), it lets calls under way end and leaves its runs to the others; told twice, it does so at
    once. A run that used a working folder (`orchestration.sub_agent_work_dir`) goes on only with workers of the
    same label.

    \b
    Examples:
      folkmoot worker
      folkmoot worker --concurrency 50 --label gpu-host --grace 60s
    """

    if label and not _LABEL.fullmatch(label):
        raise WrongUse(f"--label takes A-Z a-z 0-9 . _ -, at most 36, not {label!r}")
    place = Placement(label or this_host(), _time("--lease", lease))
    if place.lease < 1:
        raise WrongUse("--lease must be a second or more")
    asyncio.run(_work(call_of(context), Shift(place, concurrency, _time("--grace", grace), rebuild)))


async def _work(call: Call, shift: Shift) -> None:

    around = Surroundings(place=shift.place)
    async with Folkmoot.open(call.folder, overrides=call.overrides, around=around) as moot:
        worker = moot.worker(shift)
        worker.say = lambda text: say(f"worker {os.getpid()}: {text}")
        on_stop_signals(worker.stop)
        await worker.work()
        worker.say("stopped")


def _time(option: str, written: str) -> float:

    time = seconds(written)
    if time is None:
        raise WrongUse(f"{option} takes a time such as 10s or 1m, not {written!r}")
    return time


def watch(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Look once, and wait for the runs that come of it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document a line on stdout.")] = False,
) -> None:
    """Agents of idle tasks are told to go on, those who can help with blocked ones are asked in turn, who has
    nothing to do gets the first task of its backlog, and what nobody touches for a day is given up and its lead
    told. Agents are told by starting a run of them: in this process, or, where the journal is shared, by the
    workers. Any number may watch at once; each thing is done by one of them. Ctrl-C ends it and cancels the runs
    that it started here.

    \b
    Examples:
      folkmoot watch
      folkmoot watch --once
      folkmoot watch --json --set agents.defaults.taskContinuation.idleThreshold=10m
    """

    try:
        run_interruptibly(
            _keep(call_of(context), once=once, as_json=as_json),
            first=lambda: say("stopping; once more to leave at once"),
            second=lambda: None,
        )
    except KeyboardInterrupt:
        say("stopped")


async def _keep(call: Call, *, once: bool, as_json: bool) -> None:

    stdout = sys.stdout
    with redirect_stdout(sys.stderr):  # what tools print is no move
        async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
            hide(moot.secrets.text)
            watch = moot.watch()
            watch.say = partial(_tell, stdout, as_json)
            if not watch.settings.enabled:
                say("`agents.defaults.taskContinuation.enabled` is false: no agent is told anything")
            if once:
                await watch.tick()
                await watch.told()
                return
            if not watch.settings.check_interval:
                raise WrongUse(
                    "`agents.defaults.taskContinuation.checkInterval` is off; set it, or use --once"
                )
            say(f"watching, every {written(watch.settings.check_interval)}; Ctrl-C ends it")
            await watch.work()


def _tell(stdout: TextIO, as_json: bool, done: Done) -> None:

    with redirect_stdout(stdout):
        if as_json:
            write_json(done)
        else:
            write(in_one_line(" ".join(filter(None, (done.type, done.task_id, done.agent_id, done.text)))))
        stdout.flush()
