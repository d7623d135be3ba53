"""`folkmoot conversations`: what agents said to each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.domain.naming import CONVERSATION
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.views.conversations import Conversation, Conversations, Turn

app = typer.Typer(help="What agents said to each other.", no_args_is_help=True)
All = Annotated[bool, typer.Option("--all", help="Also what agents had others do for them.")]
Live = Annotated[bool, typer.Option("--live", help="Stay, and print what is said from now on.")]


@app.callback()
def _conversations() -> None:
    """What agents said to each other, as threads with turns."""


@app.command("list")
def list_conversations(
    context: typer.Context, everything: All = False, live: Live = False, as_json: AsJson = False
) -> None:
    """List the conversations between main agents, newest last.

    \b
    Examples:
      folkmoot conversations list
      folkmoot conversations list --all --json
      folkmoot conversations list --live
    """
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.cli.records import has_run

    folder = call_of(context).folder
    _only_one(live, as_json)
    if not has_run(folder):
        write_json([]) if as_json else say(f"nothing has run in {folder} yet")
        return
    found, position = finished(_read(folder, everything))
    threads = sorted(found.threads.values(), key=lambda thread: thread.last_at)
    if as_json:
        write_json(threads)
        return
    if threads:
        write_table(("conversation", "title", "between", "turns", "last"), map(_cells, threads))
    else:
        say("no main agents have written to each other yet")
    if live:
        finished(_follow(folder, found, position))


@app.command()
def show(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONVERSATION", help="Its id, the beginning of one, or `last`.")
    ] = "last",
    everything: All = False,
    live: Live = False,
    as_json: AsJson = False,
) -> None:
    """Show one conversation, turn by turn, with the beginnings of what was said.

    The whole texts stand in the runs: `folkmoot runs show RUN`.

    \b
    Examples:
      folkmoot conversations show
      folkmoot conversations show conv_1a2b3c --json
      folkmoot conversations show last --live
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.cli.records import require_runs

    folder = require_runs(call_of(context).folder)
    _only_one(live, as_json)
    found, position = finished(_read(folder, everything))
    thread = _chosen(found, conversation)
    if as_json:
        write_json(thread)
        return
    write(f"{thread.title}  ({', '.join(thread.participants)})", "bold")
    for turn in thread.turns:
        _write_message(turn)
        if turn.answered_at:
            _write_answer(turn)
    if live:
        finished(_follow(folder, found, position, thread.conversation_id))


def _only_one(live: bool, as_json: bool) -> None:
    if live and as_json:
        raise WrongUse("--live and --json do not go together: a document has an end; leave one of them out")


async def _read(folder: Path, everything: bool) -> tuple[Conversations, int]:
    """All threads, and where the journal ends."""
    from folkmoot.cli.records import opened
    from folkmoot.ports import Query
    from folkmoot.views.conversations import EVENTS, Conversations

    found, position = Conversations(delegated=everything), 0
    async with opened(folder) as journal:
        async for entry in journal.read(Query(types=EVENTS)):
            found.take(entry.draft)
            position = entry.seq
    return found, position


async def _follow(folder: Path, found: Conversations, after: int, only: str = "") -> None:
    from folkmoot.cli.records import opened
    from folkmoot.domain.team_events import A2aResponse

    async with opened(folder) as journal:
        async for entry in journal.follow(after):
            if (turn := found.take(entry.draft)) and only in ("", entry.draft.conversation_id):
                (_write_answer if isinstance(entry.event, A2aResponse) else _write_message)(turn)


def _chosen(found: Conversations, name: str) -> Conversation:
    threads = sorted(found.threads.values(), key=lambda thread: thread.last_at)
    known = {thread.conversation_id: thread for thread in threads}
    return known[CONVERSATION.resolve(known, name)]


def _cells(thread: Conversation) -> tuple[str, ...]:
    from folkmoot.cli.amounts import moment

    between = ", ".join(thread.participants)
    return (thread.conversation_id, thread.title, between, str(len(thread.turns)), moment(thread.last_at))


def _write_message(turn: Turn) -> None:
    from folkmoot.cli.amounts import moment
    from folkmoot.cli.output import write

    write(f"{moment(turn.at)}  {turn.from_agent} -> {turn.to_agent}: {_line(turn.message)}")


def _write_answer(turn: Turn) -> None:
    from folkmoot.cli.amounts import moment
    from folkmoot.cli.output import write

    at = moment(turn.answered_at or "")
    if turn.outcome == "replied":
        write(f"{at}  {turn.to_agent} -> {turn.from_agent}: {_line(turn.reply)}")
    else:
        write(f"{at}  {turn.to_agent} gave {turn.from_agent} no reply: {_line(turn.error)}", "yellow")


def _line(text: str) -> str:
    return " ".join(text.split())
