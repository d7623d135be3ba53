"""`folkmoot watch`: sees that no task falls asleep."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from typing import Annotated, TextIO

import typer

from folkmoot.app import Folkmoot
from folkmoot.cli.call import Call, call_of
from folkmoot.cli.interrupt import run_interruptibly
from folkmoot.cli.output import hide, in_one_line, say, write, write_json
from folkmoot.domain.duration import written
from folkmoot.engine.watch import Done
from folkmoot.errors import WrongUse


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
