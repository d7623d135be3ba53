"""`folkmoot conversations`: what agents said to each other, as threads with turns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import format_local_time, format_one_line, write, write_stderr, write_table
from folkmoot.cli.project import open_readonly_project
from folkmoot.domain.team_events import A2aResponse
from folkmoot.engine.history import last_position
from folkmoot.errors import WrongUse
from folkmoot.operations.actor import by_account
from folkmoot.operations.conversations import OPERATIONS, ListConversations, ShowConversation
from folkmoot.operations.operation import Operation
from folkmoot.views.conversations import Conversation, Conversations, Turn

COMMANDS = OPERATIONS


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(output, Conversation):
        write(f"{output.title}  ({', '.join(output.participants)})", "bold")
        for turn in output.turns:
            _write_message(turn)
            if turn.answered_at:
                _write_answer(turn)
    elif output:
        write_table(("conversation", "title", "between", "turns", "last"), map(_cells, output))
    else:
        write_stderr("no main agents have written to each other yet")


def _read_live_option(
    live: Annotated[bool, typer.Option("--live", help="Stay, and print what is said from now on.")] = False,
) -> dict[str, Any]:
    return {}


def _show_live(
    call: GlobalOptions, wanted: ListConversations | ShowConversation, as_json: bool, *, live: bool
) -> None:
    if as_json:
        raise WrongUse("--live and --json do not go together: a document has an end; leave one of them out")
    run_async(_follow_conversations(call, wanted))


async def _follow_conversations(call: GlobalOptions, wanted: ListConversations | ShowConversation) -> None:
    """What was said, then what is said, without end."""
    async with open_readonly_project(call.folder) as project:
        found, known = Conversations(delegated=wanted.all), await last_position(project.journal)
        output: Any = await wanted.run(project, by_account("terminal"))
        present(wanted, output)
        only = output.conversation_id if isinstance(output, Conversation) else ""
        async for entry in project.journal.follow():
            turn = found.take(entry.draft)
            if turn and entry.seq > known and only in ("", entry.draft.conversation_id):
                (_write_answer if isinstance(entry.event, A2aResponse) else _write_message)(turn)


TERMINAL_OPTIONS = dict.fromkeys(
    (ListConversations, ShowConversation), TerminalOptions(_read_live_option, _show_live)
)


def _cells(thread: Conversation) -> tuple[str, ...]:
    between = ", ".join(thread.participants)
    return (
        thread.conversation_id,
        thread.title,
        between,
        str(len(thread.turns)),
        format_local_time(thread.last_at),
    )


def _write_message(turn: Turn) -> None:
    write(
        f"{format_local_time(turn.at)}  {turn.from_agent} -> {turn.to_agent}: {format_one_line(turn.message)}"
    )


def _write_answer(turn: Turn) -> None:
    at = format_local_time(turn.answered_at or "")
    if turn.outcome == "replied":
        write(f"{at}  {turn.to_agent} -> {turn.from_agent}: {format_one_line(turn.reply)}")
    else:
        error = format_one_line(turn.error)
        write(f"{at}  {turn.to_agent} gave {turn.from_agent} no reply: {error}", "yellow")
