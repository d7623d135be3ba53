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
from folkmoot.cli.call import GlobalOptions, get_global_options
from folkmoot.cli.interrupt import on_stop_signals, run_interruptibly
from folkmoot.cli.output import format_one_line, set_redactor, write, write_json, write_stderr
from folkmoot.domain.duration import seconds, written
from folkmoot.engine.claims import WorkerIdentity, WorkerOptions, this_host
from folkmoot.engine.watch import WatchAction
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
    place = WorkerIdentity(label or this_host(), _parse_time_option("--lease", lease))
    if place.lease < 1:
        raise WrongUse("--lease must be a second or more")
    asyncio.run(
        _run_worker(
            get_global_options(context),
            WorkerOptions(place, concurrency, _parse_time_option("--grace", grace), rebuild),
        )
    )


async def _run_worker(call: GlobalOptions, shift: WorkerOptions) -> None:

    around = Surroundings(place=shift.place)
    async with Folkmoot.open(call.folder, overrides=call.overrides, around=around) as moot:
        worker = moot.worker(shift)
        worker.say = lambda text: write_stderr(f"worker {os.getpid()}: {text}")
        on_stop_signals(worker.stop)
        await worker.work()
        worker.say("stopped")


def _parse_time_option(option: str, written: str) -> float:

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
            _run_watch(get_global_options(context), once=once, as_json=as_json),
            first=lambda: write_stderr("stopping; once more to leave at once"),
            second=lambda: None,
        )
    except KeyboardInterrupt:
        write_stderr("stopped")


async def _run_watch(call: GlobalOptions, *, once: bool, as_json: bool) -> None:

    stdout = sys.stdout
    with redirect_stdout(sys.stderr):  # what tools print is no move
        async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
            set_redactor(moot.secrets.text)
            watch = moot.watch()
            watch.say = partial(_write_watch_action, stdout, as_json)
            if not watch.settings.enabled:
                write_stderr("`agents.defaults.taskContinuation.enabled` is false: no agent is told anything")
            if once:
                await watch.tick()
                await watch.told()
                return
            if not watch.settings.check_interval:
                raise WrongUse(
                    "`agents.defaults.taskContinuation.checkInterval` is off; set it, or use --once"
                )
            write_stderr(f"watching, every {written(watch.settings.check_interval)}; Ctrl-C ends it")
            await watch.work()


def _write_watch_action(stdout: TextIO, as_json: bool, done: WatchAction) -> None:

    with redirect_stdout(stdout):
        if as_json:
            write_json(done)
        else:
            write(
                format_one_line(" ".join(filter(None, (done.type, done.task_id, done.agent_id, done.text))))
            )
        stdout.flush()
