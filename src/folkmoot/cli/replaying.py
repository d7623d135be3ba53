"""`folkmoot runs replay`, `diff` and `fork`: a run again, two runs side by side, and another way from some point on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Quiet, Target, Wait, call_of, finished, read_text
from folkmoot.cli.runs import RunName
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.engine.replay import Replayed
    from folkmoot.views.difference import Difference


def add_to(app: typer.Typer) -> None:
    app.command()(replay)
    app.command()(diff)
    app.command()(fork)


def replay(context: typer.Context, run: RunName, as_json: AsJson = False) -> int:
    """Let a run happen again from its journal, and compare entry by entry.

    The same program runs with the recorded answers of models, results of tools and words of people; nothing is
    asked, called or recorded. The exit code is 1 if something came out otherwise.

    \b
    Examples:
      folkmoot runs replay last
      folkmoot runs replay 20260101-101500 --json
    """
    from folkmoot.cli.output import say, write, write_json

    replayed = finished(_replay(call_of(context).folder, run))
    if as_json:
        write_json(replayed)
    elif replayed.equal:
        write(f"replayed {replayed.events} events, state hash {replayed.state_hash[:16]}, equal")
        if replayed.ends:
            say(replayed.ends)
    else:
        write(f"replayed {replayed.events} of {replayed.recorded} events, then it went another way:")
        write(f"  {replayed.divergence}")
    return 0 if replayed.equal else 1


def diff(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A run's id, the beginning of one, or `last`.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    as_json: AsJson = False,
) -> int:
    """Show the first thing that two runs did otherwise, and what is not the same in the end.

    The exit code is 1 if they differ.

    \b
    Examples:
      folkmoot runs diff 20260101-101500 last
      folkmoot runs diff 20260101-101500 last --json
    """
    from folkmoot.cli.output import write, write_json, write_table

    found = finished(_diff(call_of(context).folder, a, b))
    if as_json:
        write_json(found)
        return 0 if found.equal else 1
    write(str(found.first) if found.first else "both runs did the same")
    if found.changes:
        write_table(("", "A", "B"), [(change.name, change.a, change.b) for change in found.changes])
    return 0 if found.equal else 1


def fork(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    run: RunName,
    at: Annotated[int, typer.Option(metavar="SEQ", help="The last entry that is taken over (its `runSeq`).")],
    prompt: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=FILE", help="Another prompt for an agent, from FILE; may be repeated."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=MODEL", help="Another model for an agent; may be repeated."),
    ] = None,
    answer: Annotated[
        str, typer.Option(metavar="TEXT", help="What the model says instead; SEQ is an answer or a request.")
    ] = "",
    request: Annotated[str, typer.Option(metavar="TEXT", help="Another request; only with --at 1.")] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
) -> int:
    """Start a new run that begins as another one did, and goes on from some entry with real models.

    Nothing that was taken over is done or paid for again. From there on, each call of a tool that does something
    (`keyed` or `once`) waits for your word, because the other run may have done the same. `folkmoot log export RUN`
    shows the entries with their `runSeq`.

    \b
    Examples:
      folkmoot runs fork last --at 12 --prompt billing.ai=shorter.md
      folkmoot runs fork last --at 12 --model billing.ai=openai/gpt-5-mini
      folkmoot runs fork last --at 10 --answer "I cannot decide this."
      folkmoot runs fork last --at 1 --request "Where is my order?"
    """
    from folkmoot.cli.ending import finish
    from folkmoot.cli.perform import perform
    from folkmoot.cli.records import read_record
    from folkmoot.engine.history import Fork

    call = call_of(context)
    wanted = Fork(
        at=at,
        prompts={
            name: read_text(Path(file), "the prompt").strip()
            for name, file in _pairs("--prompt", prompt).items()
        },
        models=_pairs("--model", model),
        answer=answer,
        request=request,
    )
    row = finished(read_record(call.folder, run)).row
    result = perform(
        call,
        Target(folder=call.folder, agent=row.agent),
        lambda moot, hear, said: moot.fork(row.run_id, wanted, hear=hear, answer=said, wait=wait),
        quiet=quiet,
        pinned=row.run_id,
    )
    return finish(result, as_json=as_json, quiet=quiet)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in given or []:
        agent, equals, value = each.partition("=")
        if not agent or not equals or not value:
            raise WrongUse(f"{option} takes AGENT=…, such as billing.ai=…, not {each!r}")
        pairs[agent] = value
    return pairs


async def _replay(folder: Path, name: str) -> Replayed:
    from folkmoot.cli.records import opened
    from folkmoot.engine.replay import replay as again
    from folkmoot.engine.runs import find_run

    async with opened(folder) as journal:
        return await again(journal, (await find_run(journal, name)).run_id)


async def _diff(folder: Path, a: str, b: str) -> Difference:
    from folkmoot.cli.records import opened
    from folkmoot.engine.history import read_whole_history
    from folkmoot.engine.runs import find_run
    from folkmoot.views.difference import difference

    async with opened(folder) as journal:
        return difference(
            *[await read_whole_history(journal, (await find_run(journal, name)).run_id) for name in (a, b)]
        )
