"""`folkmoot sinks`: where events are sent on to, how far each of these places is, and the sending itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.call import AsJson, Call, call_of, finished

if TYPE_CHECKING:
    from folkmoot.domain.settings import Settings
    from folkmoot.engine.sinking import Place, Sinking

app = typer.Typer(
    help="Where events are sent on to: files, Discord, webhooks, OpenTelemetry.", no_args_is_help=True
)
_NONE = "this project has no sinks; name them under `sinks` in folkmoot.yaml"


@app.command("list")
def list_sinks(context: typer.Context, as_json: AsJson = False) -> None:
    """List the sinks of folkmoot.yaml: how far each is, how many events wait for it, and what is wrong with it.

    \b
    Examples:
      folkmoot sinks list
      folkmoot sinks list --json
    """
    from folkmoot.cli.output import say, write_json, write_table

    rows = finished(_rows(call_of(context)))
    if as_json:
        write_json(rows)
    elif not rows:
        say(_NONE)
    else:
        head = ("name", "kind", "position", "lag", "error")
        write_table(
            head, ([str(row[key] or "") if key == "error" else str(row[key]) for key in head] for row in rows)
        )


@app.command()
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
    return finished(_run(call_of(context), once=once))


@app.command()
def move(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SINK", help="As `list` shows it.", show_default=False)],
    to: Annotated[
        str, typer.Option(metavar="start|end|SEQ", help="The entry of the journal after which it goes on.")
    ],
) -> None:
    """Let a sink go on from another place: to send everything again, or to leave out what lies behind.

    To write a file anew, remove it first.

    \b
    Examples:
      folkmoot sinks move log --to start
      folkmoot sinks move chat --to end
    """
    from folkmoot.cli.output import say

    say(f"sink {name} goes on after entry {finished(_move(call_of(context), name, to))}")


async def _rows(call: Call) -> list[dict[str, Any]]:
    from folkmoot.cli.records import has_run, opened
    from folkmoot.engine.sinking import Standing, lag, standing

    sinks, rows = _settings(call).sinks, []
    if has_run(call.folder):
        async with opened(call.folder) as journal:
            for name, sink in sinks.items():
                at = await standing(journal, name)
                rows.append((name, sink.kind, at, await lag(journal, sink, at)))
    else:
        rows = [(name, sink.kind, Standing(), 0) for name, sink in sinks.items()]
    return [
        {"name": name, "kind": kind, "position": at.seq, "lag": left, "error": at.failed or None}
        for name, kind, at, left in rows
    ]


async def _run(call: Call, *, once: bool) -> int:
    from folkmoot.app import Folkmoot
    from folkmoot.cli.output import say
    from folkmoot.errors import WrongUse

    async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
        if not moot.graph.settings.sinks:
            raise WrongUse(_NONE)
        sinking = moot.sinking()
        sinking.say = say
        return int(not await sinking.once()) if once else await _until_stopped(sinking)


async def _until_stopped(sinking: Sinking) -> int:
    from folkmoot.cli.interrupt import on_stop_signals

    on_stop_signals(sinking.stop)
    async with sinking:
        sinking.say("sending events on; Ctrl-C ends it")
        await sinking.ended()
    return 0


async def _move(call: Call, name: str, to: str) -> int:
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.sinking import move
    from folkmoot.errors import NotFound, WrongUse

    if name not in (known := _settings(call).sinks):
        raise NotFound(
            f"there is no sink {name!r}; there are {', '.join(known) or 'none'}", code="sink_not_found"
        )
    match to:
        case "start" | "end":
            place: Place = to
        case _ if to.isascii() and to.isdecimal():
            place = int(to)
        case _:
            raise WrongUse(f"--to takes start, end or the seq of an entry, not {to!r}")
    async with opened(call.folder, readonly=False) as journal:
        return await move(journal, SystemClock(), name, place)


def _settings(call: Call) -> Settings:
    from folkmoot.engine.workshop import load_project

    return load_project(call.folder, overrides=call.overrides).graph.settings
