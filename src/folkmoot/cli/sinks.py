"""`folkmoot sinks`: where events are sent on to, how far each of these places is, and the sending itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.call import GlobalOptions, get_global_options, run_async
from folkmoot.cli.interrupt import on_stop_signals
from folkmoot.cli.output import write_stderr, write_table
from folkmoot.errors import WrongUse
from folkmoot.operations.operation import Operation
from folkmoot.operations.sinks import OPERATIONS, MoveSink

if TYPE_CHECKING:
    from folkmoot.engine.sinking import SinkFeeder

_NONE = "this project has no sinks; name them under `sinks` in folkmoot.yaml"


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(operation, MoveSink):
        write_stderr(f"sink {output.id} goes on after entry {output.position}")
    elif not output:
        write_stderr(_NONE)
    else:
        rows = ((row.id, row.kind, str(row.position), str(row.lag), row.error or "") for row in output)
        write_table(("name", "kind", "position", "lag", "error"), rows)


def run(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Send on what there is, and end; 1 if a sink did not take it.")
    ] = False,
) -> int:
    """Send events on to the sinks of folkmoot.yaml, until it is told to stop.

    Each sink goes on where it stood, also after a crash: nothing is lost, and at most its last batch comes again, with
    the same ids. A sink that fails is tried again, and stands in nobody's way. Start one such process for a project; of
    two, one gives way.

    \b
    Examples:
      folkmoot sinks run
      folkmoot sinks run --once
    """
    return run_async(_run_sinks(get_global_options(context), once=once))


async def _run_sinks(call: GlobalOptions, *, once: bool) -> int:
    from folkmoot.app import Folkmoot

    async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
        if not moot.graph.settings.sinks:
            raise WrongUse(_NONE)
        sinking = moot.sinking()
        sinking.say = write_stderr
        return int(not await sinking.once()) if once else await _run_until_stopped(sinking)


async def _run_until_stopped(sinking: SinkFeeder) -> int:
    on_stop_signals(sinking.stop)
    async with sinking:
        sinking.say("sending events on; Ctrl-C ends it")
        await sinking.ended()
    return 0


COMMANDS = (*OPERATIONS, run)
TERMINAL_OPTIONS: dict[type, Any] = {}
